/* Addresses made in the browser keep the project that the reader chose. */
export function pageUrl(path, query = {}) {
  const parameters = new URLSearchParams(query);
  const project = new URLSearchParams(location.search).get("project");
  if (project) parameters.set("project", project);
  const text = parameters.toString();
  return text ? `${path}?${text}` : path;
}
