import { globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

export const ROOT = resolve(import.meta.dirname, '../..')

/** Everything that runs in a sidecar; tests, fakes and the embedded cluster do not. */
const RUNTIME = ['apps/attacher', 'apps/resizer', 'libs/{base,controller,csi,csi-translation,events,informer}']
const MORE = ['libs/{kube-client,kube-types,leader-election,sidecar,telemetry,workqueue}']

/** The sources as one text. */
export function runtimeSources(): string {
  const files = [...RUNTIME, ...MORE].flatMap((folder) => globSync(`${folder}/src/**/*.ts`, { cwd: ROOT }))
  const own = files.filter((file) => !/\.test\.ts$|[/\\]testing[/\\]/.test(file)).sort()
  return own.map((file) => readFileSync(join(ROOT, file), 'utf8')).join('\n')
}

/** The messages of the warnings and error lines that stand in the sources as literals. */
export function errorMessages(sources: string): ReadonlySet<string> {
  // The first literal after the call is the message: what comes before it is an error, which is a name or `new Error`.
  const calls = sources.matchAll(
    /[lL]og\)?\.(?:warn|error|fatal)\((?:\s*(?:new Error\([\w.]+\)|[\w.#]+),)?\s*(?:'([^']+)'|`([^`]+)`)/g,
  )
  return new Set([...calls].map(([, plain, template]) => plain ?? template ?? ''))
}

/** The messages that end the start. */
export function startMessages(sources: string): ReadonlySet<string> {
  const calls = sources.matchAll(/(?:StartError|failing)\(\s*'([^']+)'/g)
  return new Set([...calls].map(([, message = '']) => message))
}

/** The reasons of events on claims. */
export function eventReasons(sources: string): ReadonlySet<string> {
  const calls = sources.matchAll(/\b(?:normal|warning)\(\s*run,\s*\w+,\s*'(\w+)'/g)
  return new Set([...calls].map(([, reason = '']) => reason))
}
