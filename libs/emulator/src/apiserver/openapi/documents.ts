import type { JsonMap } from '../schema/json.ts'
import { groupVersionOf, KINDS, type ServedKind } from '../schema/kinds.ts'
import { definitions } from './definitions.ts'

const MADE = new Map<string, object>()

/** Returns the OpenAPI 3 document at a path, which the first request creates. Undefined for other paths. */
export function openApiPath(path: string): object | undefined {
  const made = MADE.get(path) ?? (path === '/openapi/v3' ? index() : document(path.slice('/openapi/v3/'.length)))
  if (made !== undefined) MADE.set(path, made)
  return made
}

/** Returns the root path of the group of a kind: `api/v1`, `apis/storage.k8s.io/v1`. */
function rootOf(kind: ServedKind): string {
  return `${kind.group === '' ? 'api' : 'apis'}/${groupVersionOf(kind)}`
}

function index(): object {
  const roots = [...new Set(KINDS.map(rootOf))]
  return {
    paths: Object.fromEntries(roots.map((root) => [root, { serverRelativeURL: `/openapi/v3/${root}?hash=1` }])),
  }
}

function document(root: string): object | undefined {
  const kinds = KINDS.filter((kind) => rootOf(kind) === root)
  if (kinds.length === 0) return undefined
  const paths = Object.assign({}, ...kinds.map(pathsOf)) as JsonMap
  return {
    openapi: '3.0.0',
    info: { title: 'Kubernetes', version: 'v1.36.3' },
    paths,
    components: { schemas: definitions() },
  }
}

/** Returns the operations that kubectl reads: `explain` the list of a kind, `create` and `patch` their options. */
function pathsOf(kind: ServedKind): JsonMap {
  const place = `/${rootOf(kind)}${kind.namespaced ? '/namespaces/{namespace}' : ''}/${kind.plural}`
  const { group, version } = kind
  const gvk = { 'x-kubernetes-group-version-kind': { group, kind: kind.kind, version } }
  const parameters = ['dryRun', 'fieldManager', 'fieldValidation'].map((name) => ({
    name,
    in: 'query',
    schema: { type: 'string' },
  }))
  return { [place]: { get: gvk }, [`${place}/{name}`]: { patch: { ...gvk, parameters } } }
}
