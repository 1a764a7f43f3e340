import type { Verb } from '../../faults/request-faults.ts'
import { KINDS, kindAt, type ServedKind } from '../schema/kinds.ts'
import { noSuchPath, notServed } from './api-failure.ts'

/** The meaning of a request. `path` stands for requests that are not about objects: discovery, health, OpenAPI. */
export type RequestInfo =
  | { readonly type: 'path'; readonly path: string; readonly verb: string }
  | ({ readonly type: 'resource' } & ResourceInfo)

/** The resource in a path. The server may not know it, because permissions are checked first. */
export interface ResourceInfo {
  readonly verb: Verb
  readonly group: string
  readonly version: string
  readonly plural: string
  readonly namespace: string | undefined
  readonly name: string | undefined
  readonly subresource: string | undefined
}

/** A request for a resource that the server serves. */
export interface ResourceRequest extends ResourceInfo {
  readonly kind: ServedKind
}

const GROUP_PATH = /^\/apis\/([^/]+)\/([^/]+)\/(.+)$/
const CORE_PATH = /^\/api\/([^/]+)\/(.+)$/

/** Reads the verb and the resource of a request from its method and its path. */
export function requestInfo(method: string, url: URL): RequestInfo {
  const path = url.pathname
  const [, group, version, rest] = GROUP_PATH.exec(path) ?? withGroup(CORE_PATH.exec(path))
  const asPath = { type: 'path', path, verb: method.toLowerCase() } as const
  if (group === undefined || version === undefined || rest === undefined) return asPath
  if (!KINDS.some((kind) => kind.group === group && kind.version === version)) return asPath
  const steps = rest.split('/').map(unescaped)
  if (steps.at(-1) === '') steps.pop()
  const watchPrefix = steps[0] === 'watch'
  if (watchPrefix) steps.shift()
  const place = resourcePathOf(steps)
  const verb = watchPrefix ? 'watch' : verbOf(method, place.name, url.searchParams)
  return { type: 'resource', verb, group, version, ...place }
}

function withGroup(match: RegExpExecArray | null): readonly string[] {
  return match === null ? [] : [match[0], '', ...match.slice(1)]
}

/** Adds the kind of the resource. Throws 404 if the server does not serve it. */
export function served(info: ResourceInfo, absent: ReadonlySet<ServedKind>): ResourceRequest {
  const kind = kindAt(info.group, info.version, info.plural)
  if (kind === undefined) throw noSuchPath()
  if (absent.has(kind)) throw kind.custom ? notServed() : noSuchPath()
  if (!kind.namespaced && info.namespace !== undefined) throw noSuchPath()
  if (kind.namespaced && info.namespace === undefined && info.name !== undefined) throw noSuchPath()
  if (info.subresource !== undefined && !kind.subresources.includes(info.subresource)) throw noSuchPath()
  return { ...info, kind }
}

type ResourcePath = Pick<ResourceInfo, 'plural' | 'namespace' | 'name' | 'subresource'>

function resourcePathOf(steps: readonly string[]): ResourcePath {
  // `namespaces/x` and `namespaces/x/status` name the Namespace object. `namespaces/x/pods` names the pods inside it.
  const inNamespace = steps[0] === 'namespaces' && steps.length > 2 && steps[2] !== 'status'
  const [plural = '', name, ...more] = inNamespace ? steps.slice(2) : steps
  const subresource = more.length === 0 ? undefined : more.join('/')
  return { plural, namespace: inNamespace ? steps[1] : undefined, name, subresource }
}

function verbOf(method: string, name: string | undefined, query: URLSearchParams): Verb {
  switch (method) {
    case 'POST':
      return 'create'
    case 'PUT':
      return 'update'
    case 'PATCH':
      return 'patch'
    case 'DELETE':
      return name === undefined ? 'deletecollection' : 'delete'
    default: {
      const watch = query.get('watch')
      if (watch !== null && watch !== 'false' && watch !== '0') return 'watch'
      return name === undefined ? 'list' : 'get'
    }
  }
}

function unescaped(step: string): string {
  try {
    return decodeURIComponent(step)
  } catch (cause) {
    throw Object.assign(noSuchPath(), { cause })
  }
}
