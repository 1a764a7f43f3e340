/** The flags of Go's logging library that the sidecars had before they could log as JSON. */
export const KLOG_FLAGS: readonly string[] = [
  'add_dir_header',
  'alsologtostderr',
  'log_backtrace_at',
  'log_dir',
  'log_file',
  'log_file_max_size',
  'logtostderr',
  'one_output',
  'skip_headers',
  'skip_log_headers',
  'stderrthreshold',
]
