// A plugin of the mutation tester that injects no faults into log calls. End-to-end tests compare the log lines with
// those of the Go sidecars, and unit tests do not write log lines of high levels.

const WRITES = new Set(['info', 'warn', 'error'])

/** Reports whether a node is a log call, such as `log.v(4)?.info(...)` or `run.log.warn(...)`. */
function isLogCall({ node }) {
  const { callee } = node
  if (node.type !== 'CallExpression' && node.type !== 'OptionalCallExpression') return false
  if (callee.property === undefined || !WRITES.has(callee.property.name)) return false
  const logger = callee.object.type.endsWith('CallExpression') ? callee.object.callee.object : callee.object
  return (logger?.property?.name ?? logger?.name) === 'log'
}

export const strykerPlugins = [
  {
    kind: 'Ignore',
    name: 'logs',
    value: { shouldIgnore: (path) => (isLogCall(path) ? 'a line of the log' : undefined) },
  },
]
