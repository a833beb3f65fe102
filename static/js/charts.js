/* Plotly with our look. It is 4.5 MB, so it is fetched after the first paint, once, and only where a chart is. */
const token = name => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
export { token };
export const stageColour = stage => token(stage.replaceAll("_", "-"));

/* Plotly makes style elements, which the page's policy lets pass with its nonce only. */
function giveStylesTheNonce() {
  const { nonce } = document.querySelector("script[type=importmap]"), create = document.createElement.bind(document);
  document.createElement = (tag, ...rest) => {
    const made = create(tag, ...rest);
    if (tag === "style") made.nonce = nonce;
    return made;
  };
}

let loading = null;
export function plotly() {
  loading ??= new Promise((resolve, reject) => {
    giveStylesTheNonce();
    const script = document.createElement("script");
    script.src = document.body.dataset.plotly;
    script.onload = () => resolve(window.Plotly);
    script.onerror = () => { loading = null; reject(new Error("The chart library could not be loaded.")); };
    // After two frames something has been painted.
    requestAnimationFrame(() => requestAnimationFrame(() => document.head.append(script)));
  });
  return loading;
}

export function chartTemplate() {
  const axis = {
    gridcolor: token("grid"), linecolor: token("line-strong"), zeroline: false, ticks: "", showline: false,
    tickfont: { size: 11, color: token("text-3") }, title: { font: { size: 11, color: token("text-3") }, standoff: 6 },
    automargin: true, fixedrange: true, spikecolor: token("text-3"), spikethickness: 1, spikedash: "solid",
  };
  return {
    layout: {
      font: { family: token("sans"), size: 12, color: token("text-2") },
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      margin: { l: 36, r: 8, t: 8, b: 24 }, height: 232,
      colorway: [token("text"), token("control-line"), token("accent")],
      separators: ".\u202f", showlegend: false, bargap: .15, dragmode: false, hovermode: "x unified",
      hoverlabel: { bgcolor: token("pop"), bordercolor: token("line-strong"), align: "left", font: { family: token("sans"), size: 12, color: token("text") } },
      xaxis: { ...axis, type: "date", showgrid: true, showspikes: true, spikemode: "across", spikesnap: "data", tickformat: "%H:%M", hoverformat: "%H:%M" },
      yaxis: { ...axis, rangemode: "tozero", nticks: 5 },
      annotationdefaults: { showarrow: false, font: { size: 12, color: token("text-2") } },
      shapedefaults: { line: { color: token("text-3"), width: 1, dash: "2px,3px" } },
    },
    data: { scatter: [{ line: { width: 1.5 }, mode: "lines" }], bar: [{ marker: { line: { width: 0 } } }] },
  };
}
export const chartConfig = { displayModeBar: false, displaylogo: false, responsive: true, scrollZoom: false, doubleClick: false };

/** Draws `figure()` into the host, and again on a new theme or width; not while the host is out of view. */
export function chart(host, figure, onClick) {
  let visible = false, stale = true, width = 0;
  const draw = async () => {
    if (!visible || !stale) return;
    stale = false;
    try {
      const Plotly = await plotly();
      const { data, layout } = figure(host.clientWidth);
      await Plotly.react(host, data, { ...layout, template: chartTemplate() }, chartConfig);
      if (onClick && !host.dataset.listens) {
        host.dataset.listens = "yes";
        host.on("plotly_click", onClick);
      }
    } catch (error) {
      host.textContent = `${error.message} The table has the same figures.`;
    }
  };
  const again = () => { stale = true; draw(); };
  new IntersectionObserver(entries => { visible = entries.at(-1).isIntersecting; draw(); }, { rootMargin: "80px" }).observe(host);
  new ResizeObserver(() => {
    if (Math.abs(host.clientWidth - width) < 2) return;
    width = host.clientWidth;
    again();
  }).observe(host);
  document.addEventListener("theme:change", again);
  return again;
}
