// Refuses regular expressions of the sidecars and of kubectl csi that take more than linear time. A driver or an API
// server could block the process with a few kilobytes. If the text is always short, or if the expression is built from
// parts, the line above must contain `// regex-bounded: <reason>`.
// The rules of eslint-plugin-regexp 3.3, by the same analyser, accept /error: (.*)$/ and expressions built from parts.
import { globSync, readFileSync } from 'node:fs'
import { RegExpParser } from '@eslint-community/regexpp'
import { parseSync, Visitor } from 'oxc-parser'
import { isPotentiallyEmpty, toUnicodeSet } from 'regexp-ast-analysis'
import { analyse } from 'scslre'

const FILES = ['libs/*/src/**/*.ts', 'apps/*/src/**/*.ts', 'desk/*/src/**/*.ts']
/** The files that are not checked: tests, and programs that run only on a developer's machine. */
const LEFT_OUT =
  /\.test\.ts$|\/testing\/|\/gen\/|^desk\/(emulator|disturb|volume-controllers|driver-test)\/|^desk\/devcluster\/src\/(?!page\/)/
const REASON = /^\s*(?:\/\/|\*|\/\*\*?) regex-bounded: \S/

let looked = 0
const problems = []
for (const file of globSync(FILES).sort()) {
  if (LEFT_OUT.test(file)) continue
  const text = readFileSync(file, 'utf8')
  const lines = text.split('\n')
  const report = (start, what) => {
    const line = text.slice(0, start).split('\n').length
    if (!REASON.test(lines[line - 2] ?? '')) problems.push(`${file}:${line}: ${what}`)
  }
  new Visitor({
    Literal({ regex, start }) {
      if (regex === undefined || regex === null) return
      looked += 1
      const { pattern, flags } = regex
      if (isSuperLinear(pattern, flags)) report(start, `/${pattern}/ takes more than linear time`)
    },
    NewExpression({ callee, arguments: [source], start }) {
      if (callee.type !== 'Identifier' || callee.name !== 'RegExp') return
      looked += 1
      if (source?.type !== 'Literal') report(start, 'nothing is known of an expression that is made of parts')
      else if (isSuperLinear(source.value, '')) report(start, `/${source.value}/ takes more than linear time`)
    },
  }).visit(parseSync(file, text).program)
}

function isSuperLinear(source, flags) {
  return analyse({ source, flags }, { maxReports: 1 }).reports.length > 0 || isSearchedAgain(source, flags)
}

/**
 * Reports whether a search may take quadratic time: a loop reads the rest of the text from each position without a
 * match. An example is /error: (.*)$/ in a text of many `error: `.
 */
function isSearchedAgain(source, flags) {
  const parsed = new RegExpParser().parsePattern(source, 0, source.length, {
    unicode: flags.includes('u'),
    unicodeSets: flags.includes('v'),
  })
  const how = new RegExpParser().parseFlags(flags)
  if (how.sticky) return false
  return parsed.alternatives.some((alternative) => {
    const elements = inOrder(alternative)
    const [first] = elements
    if (first?.type === 'Assertion' && first.kind === 'start' && !how.multiline) return false
    return elements.some((element, at) => {
      if (element.type !== 'Quantifier' || element.max !== Number.POSITIVE_INFINITY || !isSet(element.element))
        return false
      const passed = toUnicodeSet(element.element, how)
      const again = elements.slice(0, at).every((before) => mayBeOf(before, passed, how))
      return (
        again && elements.slice(at + 1).some((after) => after.type === 'Assertion' || !isPotentiallyEmpty(after, how))
      )
    })
  })
}

/** Returns the elements of a regular expression in order. A group is replaced by its elements. */
function inOrder({ elements }) {
  return elements.flatMap((element) =>
    (element.type === 'Group' || element.type === 'CapturingGroup') && element.alternatives.length === 1
      ? inOrder(element.alternatives[0])
      : [element],
  )
}

function isSet({ type }) {
  return type === 'Character' || type === 'CharacterSet' || type === 'CharacterClass'
}

function mayBeOf(element, set, how) {
  if (isSet(element)) return !toUnicodeSet(element, how).isDisjointWith(set)
  return element.type !== 'Quantifier' || element.min === 0 || mayBeOf(element.element, set, how)
}

// The check fails if a new version of the analyser decides differently about these examples.
for (const [source, refused] of [
  ['/+$', true],
  ['error: (.*)$', true],
  ['^(a+)+$', true],
  ['^[0-9]*[0-9a]*$', true],
  ['^/+', false],
  [':(\\d+)$', false],
]) {
  if (isSuperLinear(source, '') !== refused) problems.push(`/${source}/ is classified wrongly`)
}

for (const problem of problems) console.log(problem)
console.log(`${looked} regular expressions, ${problems.length} refused`)
if (problems.length > 0) process.exitCode = 1
