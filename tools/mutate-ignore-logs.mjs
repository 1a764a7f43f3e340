// A plugin of the mutation tester: leaves calls of the logger alone. Their words are held to the originals by the stories,
// and a line at a level that is off has nothing to be found by.

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
