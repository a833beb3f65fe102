/* htmx for pages that show much before they need it: it is fetched once asked for, when the document is complete. (Before
   that it would wait for a DOMContentLoaded that may have passed.) */
let loading = null;

export function htmxLoaded(url) {
  return loading ??= new Promise(done => {
    const load = () => {
      const script = document.createElement("script");
      script.src = url;
      script.addEventListener("load", done);
      document.head.append(script);
    };
    if (document.readyState === "complete") load();
    else addEventListener("load", load, { once: true });
  });
}
