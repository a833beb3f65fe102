/* The ten owners of a run's time, in the order in which everything draws them. */
export const LABELS = {
  prefill: "Prefill", decode: "Decode", tool_parsing: "Tool parsing", tool_execution: "Tool execution",
  re_encoding: "Re-encoding", continue_decode: "Continue decode", queue: "Queue", transport: "Transport",
  model_unsplit: "Unsplit model", orchestration: "Orchestration",
};
export const cssName = stage => stage.replaceAll("_", "-");
