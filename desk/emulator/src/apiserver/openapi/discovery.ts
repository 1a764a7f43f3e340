import { noSuchPath } from '../http/api-failure.ts'
import type { JsonMap } from '../schema/json.ts'
import { groupVersionOf, KINDS, NAMESPACE, type ServedKind } from '../schema/kinds.ts'
import { definitions } from './definitions.ts'

/** The kinds that the server does not serve now, like a cluster without their CRDs. */
type Absent = ReadonlySet<ServedKind>

/** An answer that is not an API object, for example a discovery document. */
interface Document {
  readonly code: number
  readonly text: string | Uint8Array
  readonly contentType: string
}

const JSON_TYPE = 'application/json'
const TEXT_TYPE = 'text/plain; charset=utf-8'
const AGGREGATED = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'

const VERBS = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch']
const STATUS_VERBS = ['get', 'patch', 'update']
const VERSION = {
  major: '1',
  minor: '36',
  emulationMajor: '1',
  emulationMinor: '36',
  minCompatibilityMajor: '1',
  minCompatibilityMinor: '35',
  gitVersion: 'v1.36.3',
  gitCommit: '',
  gitTreeState: 'clean',
  buildDate: '1970-01-01T00:00:00Z',
  goVersion: 'go1.26',
  compiler: 'gc',
  platform: 'linux/amd64',
}

/** The paths for which the server ignores a slash at the end. */
const ROOTS: ReadonlySet<string> = new Set(['/version/', '/api/', '/apis/'])

/** Answers a path that is not a resource: health, version, discovery or OpenAPI. */
export function documentAt(absent: Absent, path: string, accept: string | undefined): Document {
  const aggregated = isAggregated(accept)
  switch (ROOTS.has(path) ? path.slice(0, -1) : path) {
    case '/healthz':
    case '/livez':
    case '/readyz':
      return { code: 200, text: 'ok', contentType: TEXT_TYPE }
    case '/version':
      return json(VERSION)
    case '/api':
      if (aggregated) return aggregate(absent, [''])
      return json({ kind: 'APIVersions', versions: ['v1'], serverAddressByClientCIDRs: [] })
    case '/apis':
      if (aggregated) return aggregate(absent, groups(absent))
      return json({ kind: 'APIGroupList', apiVersion: 'v1', groups: groups(absent).map(groupOf) })
    default:
      return elsewhere(absent, path)
  }
}

function elsewhere(absent: Absent, path: string): Document {
  const found = openApiPath(path) ?? groupPath(absent, path)
  if (found !== undefined) return json(found)
  if (path.startsWith('/api/') || groups(absent).includes(path.split('/')[2] ?? '')) throw noSuchPath()
  // kube-apiserver answers a path of an unknown group with plain text instead of a Status.
  return { code: 404, text: '404 page not found\n', contentType: TEXT_TYPE }
}

function json(body: object): Document {
  return { code: 200, text: JSON.stringify(body), contentType: JSON_TYPE }
}

function groupPath(absent: Absent, path: string): object | undefined {
  const [, root, group = '', version, ...more] = path.replace(/\/$/, '').split('/')
  if (root === 'api' && group === 'v1' && version === undefined) return resourceList(absent, 'v1')
  if (root !== 'apis' || !groups(absent).includes(group) || more.length > 0) return undefined
  if (version === undefined) return { kind: 'APIGroup', apiVersion: 'v1', ...groupOf(group) }
  return resourceList(absent, `${group}/${version}`)
}

function groups(absent: Absent): readonly string[] {
  return [...new Set(KINDS.filter((kind) => !absent.has(kind)).map((kind) => kind.group))].filter(
    (group) => group !== '',
  )
}

function groupOf(group: string): object {
  const version = KINDS.find((kind) => kind.group === group)?.version ?? 'v1'
  const here = { groupVersion: `${group}/${version}`, version }
  return { name: group, versions: [here], preferredVersion: here }
}

function resourceList(absent: Absent, groupVersion: string): object | undefined {
  const kinds = KINDS.filter((kind) => groupVersionOf(kind) === groupVersion && !absent.has(kind))
  if (kinds.length === 0) return undefined
  const resources = kinds.flatMap((kind) => [resourceOf(kind), ...subresourcesOf(kind)])
  // Only the discovery document of the core group omits the version.
  const apiVersion = groupVersion === 'v1' ? {} : { apiVersion: 'v1' }
  return { kind: 'APIResourceList', ...apiVersion, groupVersion, resources }
}

function verbsOf(kind: ServedKind): readonly string[] {
  if (kind.reviewOnly) return ['create']
  return kind === NAMESPACE ? VERBS.filter((verb) => verb !== 'deletecollection') : VERBS
}

function resourceOf(kind: ServedKind): object {
  return {
    name: kind.plural,
    singularName: kind.singular,
    namespaced: kind.namespaced,
    kind: kind.kind,
    verbs: verbsOf(kind),
    ...names(kind),
  }
}

function names(kind: ServedKind): object {
  return {
    ...(kind.shortNames.length > 0 ? { shortNames: kind.shortNames } : {}),
    ...(kind.categories.length > 0 ? { categories: kind.categories } : {}),
  }
}

/** The subresources that have a different kind than their resource, such as `token`. */
const OTHERS: Readonly<Record<string, { readonly of: object; readonly verbs: readonly string[] }>> = {
  token: { of: { group: 'authentication.k8s.io', version: 'v1', kind: 'TokenRequest' }, verbs: ['create'] },
}

function subresourcesOf({ plural, namespaced, kind, subresources }: ServedKind): readonly object[] {
  return subresources.map((subresource) => {
    const { of, verbs } = OTHERS[subresource] ?? { of: { kind }, verbs: STATUS_VERBS }
    return { name: `${plural}/${subresource}`, singularName: '', namespaced, ...of, verbs }
  })
}

function isAggregated(accept: string | undefined): boolean {
  return (accept ?? '').split(',').some((part) => {
    const parameters = part.split(';').map((each) => each.trim())
    return ['v=v2', 'g=apidiscovery.k8s.io', 'as=APIGroupDiscoveryList'].every((each) => parameters.includes(each))
  })
}

/** Returns aggregated discovery: all resources of some groups in one document. */
function aggregate(absent: Absent, of: readonly string[]): Document {
  const items = of.map((group) => {
    const kinds = KINDS.filter((kind) => kind.group === group && !absent.has(kind))
    const version = kinds[0]?.version ?? 'v1'
    const metadata = group === '' ? {} : { name: group }
    return { metadata, versions: [{ version, resources: kinds.map(discovered), freshness: 'Current' }] }
  })
  const body = { kind: 'APIGroupDiscoveryList', apiVersion: 'apidiscovery.k8s.io/v2', metadata: {}, items }
  return { code: 200, text: JSON.stringify(body), contentType: AGGREGATED }
}

function discovered(kind: ServedKind): object {
  const subresources = kind.subresources.map((subresource) => {
    const { of, verbs } = OTHERS[subresource] ?? { of: responseKind(kind), verbs: STATUS_VERBS }
    return { subresource, responseKind: of, verbs }
  })
  return {
    resource: kind.plural,
    responseKind: responseKind(kind),
    scope: kind.namespaced ? 'Namespaced' : 'Cluster',
    singularResource: kind.singular,
    verbs: verbsOf(kind),
    ...names(kind),
    ...(subresources.length > 0 ? { subresources } : {}),
  }
}

/** Returns a kind without its group and version, because the document around it already names them. */
function responseKind(kind: ServedKind): object {
  return { group: '', version: '', kind: kind.kind }
}

const MADE = new Map<string, object>()

/** Returns the OpenAPI 3 document at a path, or undefined. The first request for a document creates it. */
function openApiPath(path: string): object | undefined {
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

/** Returns the OpenAPI paths that kubectl reads: the list for `kubectl explain`, and the query parameters of PATCH. */
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
