// A plugin of the mutation tester: leaves calls of the logger alone. End-to-end tests compare their texts with the
// originals, and no unit test can find a fault in a line whose level is off.

const WRITES = new Set(['info', 'warn', 'error'])

/** `log.v(4)?.info(...)`, `run.log.warn(...)`. */
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
