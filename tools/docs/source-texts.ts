import { globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { APPS } from '@csi-sidecars/sidecars'

export const ROOT = resolve(import.meta.dirname, '../..')

/** Everything that runs in a sidecar; tests, fakes and the embedded cluster do not. */
const RUNTIME = [
  `apps/{${[...APPS, 'livenessprobe', 'sidecars'].join()}}`,
  'libs/{base,controller,csi,csi-translation,events,informer}',
]
const MORE = ['libs/{kube-client,kube-types,leader-election,sidecar,telemetry,workqueue}']

/** The sources as one text. */
export function runtimeSources(): string {
  const files = [...RUNTIME, ...MORE].flatMap((folder) => globSync(`${folder}/src/**/*.ts`, { cwd: ROOT }))
  const own = files.filter((file) => !/\.test\.ts$|[/\\]testing[/\\]/.test(file)).sort()
  return own.map((file) => readFileSync(join(ROOT, file), 'utf8')).join('\n')
}

/** The messages of the warnings and error lines that are literals in the sources. */
export function errorMessages(sources: string): ReadonlySet<string> {
  // The first literal after the call is the message. An argument before the message is an error: a name or `new Error`.
  const calls = sources.matchAll(
    /[lL]og\)?\.(?:warn|error|fatal)\((?:\s*(?:new Error\([\w.]+\)|[\w.#]+),)?\s*(?:'([^']+)'|`([^`]+)`)/g,
  )
  return new Set([...calls].map(([, plain, template]) => plain ?? template ?? ''))
}

/** The messages that end the start. */
export function startMessages(sources: string): ReadonlySet<string> {
  const calls = sources.matchAll(/(?:StartError|failing)\(\s*'([^']+)'/g)
  // The tables of a start and of a handshake.
  const rows = sources.matchAll(
    /\b(?:gates|addresses|config|client|endpoint|message): '((?:Failed|failed|Only) [^']+)'/g,
  )
  return new Set([...calls, ...rows].map(([, message = '']) => message))
}

/** The reasons of events on claims. */
export function eventReasons(sources: string): ReadonlySet<string> {
  const rows = sources.matchAll(/type: '(?:Normal|Warning)',\s*reason: '(\w+)'/g)
  return new Set([...rows].map(([, reason = '']) => reason))
}
