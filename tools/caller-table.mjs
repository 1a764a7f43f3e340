// Log lines name the place of the call in the source. In a bundle the stack shows the bundle's lines; this table leads
// back from those that hold a log call. libs/telemetry/src/caller.ts reads it and says what it looks like.

import { resolve } from 'node:path'

const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'

/** What stands in the bundle until the table is known. */
export const CALLER_TABLE_MARK = '@@caller-table@@'

/**
 * The bundle with its table in place of the mark. Neither lines nor the columns of calls move.
 * `folder` is where the bundle lies: the map names its sources from there.
 */
export function withCallerTable(code, map, folder) {
  const parts = code.split(CALLER_TABLE_MARK)
  // Without a logger there is nothing to look up.
  if (parts.length === 1) return code
  if (parts.length !== 2)
    throw new Error(`the mark ${CALLER_TABLE_MARK} stands ${parts.length - 1} times in the bundle`)
  return parts.join(callerTable(code, map, folder))
}

/** `folder/file.ts 12031:45 12040.17:52;...` */
function callerTable(code, { mappings, sources }, folder) {
  const origins = decodeMappings(mappings)
  const calls = new Map()
  for (const [row, text] of code.split('\n').entries()) {
    const found = [...text.matchAll(/\.(?:info|error|fatal)\(/g)].flatMap(({ index }) => {
      // The stack and the map both know the call by its method's name, which comes after the dot.
      const column = index + 1
      const origin = origins[row]?.findLast((segment) => segment.column <= column)
      const path = origin && sourceName(resolve(folder, sources[origin.source]))
      return path === undefined ? [] : [{ column, path, line: origin.line + 1 }]
    })
    const shared = new Set(found.map(({ path, line }) => `${path}:${line}`)).size > 1
    for (const { column, path, line } of shared ? found : found.slice(0, 1)) {
      const list = calls.get(path) ?? []
      list.push(`${row + 1}${shared ? `.${column}` : ''}:${line}`)
      calls.set(path, list)
    }
  }
  if (calls.size === 0) throw new Error('no log call was found in the bundle: how are they written now?')
  return [...calls].map(([path, list]) => [path, ...list].join(' ')).join(';')
}

/** `folder/file.ts` of our own sources; undefined for anybody else's. */
function sourceName(path) {
  const parts = path.split(/[\\/]/)
  if (parts.includes('node_modules') || !parts.includes('src')) return undefined
  const file = parts.pop()
  const folder = parts.pop()
  return `${folder === 'src' ? parts.pop() : folder}/${file}`
}

/** By line of the generated code: where its pieces begin, and the source and zero-based line they come from. */
function decodeMappings(mappings) {
  let source = 0
  let line = 0
  return mappings.split(';').map((row) => {
    let column = 0
    const segments = []
    for (const text of row === '' ? [] : row.split(',')) {
      const [columnStep, sourceStep, lineStep] = decodeVlq(text)
      column += columnStep
      if (sourceStep === undefined) continue
      source += sourceStep
      line += lineStep
      segments.push({ column, source, line })
    }
    return segments
  })
}

function decodeVlq(text) {
  const numbers = []
  let value = 0
  let shift = 0
  for (const character of text) {
    const digit = DIGITS.indexOf(character)
    value += (digit & 31) << shift
    shift += 5
    if (digit & 32) continue
    numbers.push(value & 1 ? -(value >> 1) : value >> 1)
    value = 0
    shift = 0
  }
  return numbers
}
