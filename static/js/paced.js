/* Calls at most once in `ms`: the first at once, and the last of those that came in between is never lost. */
export function paced(act, ms) {
  let last = -Infinity, waiting = null;
  const run = () => { waiting = null; last = performance.now(); act(); };
  return () => {
    if (waiting !== null) return;
    const rest = last + ms - performance.now();
    if (rest <= 0) run();
    else waiting = setTimeout(run, rest);
  };
}
