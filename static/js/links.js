/* Addresses made in the browser keep the project and the zone that the reader chose. */
export function pageUrl(path, query = {}) {
  const parameters = new URLSearchParams(query);
  const here = new URLSearchParams(location.search);
  for (const name of ["project", "zone"]) if (here.get(name)) parameters.set(name, here.get(name));
  const text = parameters.toString();
  return text ? `${path}?${text}` : path;
}
