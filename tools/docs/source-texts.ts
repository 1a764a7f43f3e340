import { globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { APPS, SIDECARS_ON_REQUEST } from '@csi-sidecars/sidecars'

export const ROOT = resolve(import.meta.dirname, '../..')

/** Returns the text of a file of the repository. */
export function readText(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8')
}

/** The folders whose code runs in a sidecar. */
const RUNTIME = [
  `apps/{${[...APPS, ...SIDECARS_ON_REQUEST.map(({ app }) => app), 'livenessprobe', 'sidecars'].join()}}`,
  'libs/{base,controller,csi,csi-translation,events,informer}',
]
const MORE = ['libs/{http1,kube-client,kube-types,leader-election,sidecar,telemetry,workqueue}']

/** Returns all sources of the sidecars as one text, without tests. */
export function runtimeSources(): string {
  const files = [...RUNTIME, ...MORE].flatMap((folder) => globSync(`${folder}/src/**/*.ts`, { cwd: ROOT }))
  const ourFiles = files.filter((file) => !/\.test\.ts$|[/\\]testing[/\\]/.test(file)).sort()
  return ourFiles.map(readText).join('\n')
}

/** Returns the messages of warnings and error lines that are literals in the sources. */
export function errorMessages(sources: string): ReadonlySet<string> {
  // The message is the first literal argument of a log call. An error may precede it: a variable or `new Error`.
  const calls = sources.matchAll(
    /[lL]og\)?\??\.(?:warn|error|fatal)\((?:\s*(?:new Error\([\w.]+\)|[\w.#]+),)?\s*(?:'([^']+)'|"([^"]+)"|`([^`]+)`)/g,
  )
  const messages = [...calls].map(([, plain, quoted, template]) => plain ?? quoted ?? template ?? '')
  // A template without text of its own gets its text from constants elsewhere.
  return new Set(messages.filter((message) => /[a-z]/i.test(message.replace(/\$\{[^}]*\}/g, ''))))
}

/** Returns the messages of errors that end the start of a sidecar. */
export function startMessages(sources: string): ReadonlySet<string> {
  const calls = sources.matchAll(/(?:StartError|failing|sentence|refusal|needs)\(\s*(?:'([^']+)'|`([^`]+)`)/g)
  // These messages are in two tables of the sources: of errors at the start, and of the first calls to a driver.
  const rows = sources.matchAll(
    /\b(?:gates|addresses|config|client|endpoint|message): '((?:Failed|failed|Only) [^']+)'/g,
  )
  return new Set([...calls, ...rows].map(([, plain, template]) => plain ?? template ?? ''))
}

/** Returns the reasons of the events that the sidecars record. */
export function eventReasons(sources: string): ReadonlySet<string> {
  const rows = sources.matchAll(/type: '(?:Normal|Warning)',\s*reason: '(\w+)'/g)
  // The snapshotter has a table of reasons for each kind of content.
  const tables = sources.matchAll(/\b(?:eventR|r)easons: \{([^}]*)\}/g)
  const inTables = [...tables].flatMap(([, table = '']) => [...table.matchAll(/'(\w+)'/g)])
  return new Set([...rows, ...inTables].map(([, reason = '']) => reason))
}
