import { noSuchPath } from '../http/api-failure.ts'
import { groupVersionOf, KINDS, type Kind, NAMESPACE } from '../schema/kinds.ts'
import { hasKind, NEWEST_RELEASE, type Release, type Served } from '../schema/releases.ts'
import { openApiPath, openApiVersionTwo, openApiVersionTwoProtobuf } from './documents.ts'
import { OPENAPI_PROTOBUF } from './protobuf.ts'

/** An answer that is no object of the API. */
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

/** Releases before the emulation of older ones say less of themselves. */
function versionOf(release: Release): object {
  if (release === NEWEST_RELEASE) return VERSION
  const { major, gitCommit, gitTreeState, buildDate, goVersion, compiler, platform } = VERSION
  const [, minor] = release.split('.')
  const gitVersion = `v${release}.0`
  return { major, minor, gitVersion, gitCommit, gitTreeState, buildDate, goVersion, compiler, platform }
}

/** Paths that are served with a slash at their end as well. */
const ROOTS: ReadonlySet<string> = new Set(['/version/', '/api/', '/apis/'])

/** Answers the paths that are no resource. */
export function documentAt(served: Served, path: string, accept: string | undefined): Document {
  const aggregated = isAggregated(accept)
  switch (ROOTS.has(path) ? path.slice(0, -1) : path) {
    case '/healthz':
    case '/livez':
    case '/readyz':
      return { code: 200, text: 'ok', contentType: TEXT_TYPE }
    case '/version':
      return json(versionOf(served.release))
    case '/api':
      if (aggregated) return aggregate(served, [''])
      return json({ kind: 'APIVersions', versions: ['v1'], serverAddressByClientCIDRs: [] })
    case '/apis':
      if (aggregated) return aggregate(served, groups(served))
      return json({ kind: 'APIGroupList', apiVersion: 'v1', groups: groups(served).map(groupOf) })
    default:
      return elsewhere(served, path, accept)
  }
}

function elsewhere(served: Served, path: string, accept: string | undefined): Document {
  if (path === '/openapi/v2') return openApiTwo(accept)
  const found = openApiPath(path) ?? groupPath(served, path)
  if (found !== undefined) return json(found)
  if (path.startsWith('/api/') || groups(served).includes(path.split('/')[2] ?? '')) throw noSuchPath()
  // What the outermost server says, which knows no Status.
  return { code: 404, text: '404 page not found\n', contentType: TEXT_TYPE }
}

const OPENAPI_TYPES = ['application/json', '*/*', 'application/*']

/** Older clients, and kubectl for a List, read it as protobuf. */
function openApiTwo(accept: string | undefined): Document {
  const types = (accept ?? '*/*').split(',').map((each) => each.split(';')[0]?.trim().replace('v2@', 'v2.') ?? '')
  const found = types.find((each) => each === OPENAPI_PROTOBUF || OPENAPI_TYPES.includes(each))
  if (found === undefined) return { code: 406, text: '', contentType: TEXT_TYPE }
  if (found !== OPENAPI_PROTOBUF) return json(openApiVersionTwo())
  return { code: 200, text: openApiVersionTwoProtobuf(), contentType: OPENAPI_PROTOBUF }
}

function json(body: object): Document {
  return { code: 200, text: JSON.stringify(body), contentType: JSON_TYPE }
}

function groupPath(served: Served, path: string): object | undefined {
  const [, root, group = '', version, ...more] = path.replace(/\/$/, '').split('/')
  if (root === 'api' && group === 'v1' && version === undefined) return resourceList(served, 'v1')
  if (root !== 'apis' || !groups(served).includes(group) || more.length > 0) return undefined
  if (version === undefined) return { kind: 'APIGroup', apiVersion: 'v1', ...groupOf(group) }
  return resourceList(served, `${group}/${version}`)
}

function groups(served: Served): readonly string[] {
  return [...new Set(KINDS.filter((kind) => hasKind(served, kind)).map((kind) => kind.group))].filter(
    (group) => group !== '',
  )
}

function groupOf(group: string): object {
  const version = KINDS.find((kind) => kind.group === group)?.version ?? 'v1'
  const here = { groupVersion: `${group}/${version}`, version }
  return { name: group, versions: [here], preferredVersion: here }
}

function resourceList(served: Served, groupVersion: string): object | undefined {
  const kinds = KINDS.filter((kind) => groupVersionOf(kind) === groupVersion && hasKind(served, kind))
  if (kinds.length === 0) return undefined
  const resources = kinds.flatMap((kind) => [resourceOf(kind), ...subresourcesOf(kind)])
  // Only that of the core group does not say its own version.
  const apiVersion = groupVersion === 'v1' ? {} : { apiVersion: 'v1' }
  return { kind: 'APIResourceList', ...apiVersion, groupVersion, resources }
}

function verbsOf(kind: Kind): readonly string[] {
  if (kind.reviewOnly) return ['create']
  return kind === NAMESPACE ? VERBS.filter((verb) => verb !== 'deletecollection') : VERBS
}

function resourceOf(kind: Kind): object {
  return {
    name: kind.plural,
    singularName: kind.singular,
    namespaced: kind.namespaced,
    kind: kind.kind,
    verbs: verbsOf(kind),
    ...names(kind),
  }
}

function names(kind: Kind): object {
  return {
    ...(kind.shortNames.length > 0 ? { shortNames: kind.shortNames } : {}),
    ...(kind.categories.length > 0 ? { categories: kind.categories } : {}),
  }
}

/** Subresources with their own kind, and their verbs. */
const OTHERS: Readonly<Record<string, { readonly of: object; readonly verbs: readonly string[] }>> = {
  token: { of: { group: 'authentication.k8s.io', version: 'v1', kind: 'TokenRequest' }, verbs: ['create'] },
  eviction: { of: { group: 'policy', version: 'v1', kind: 'Eviction' }, verbs: ['create'] },
  scale: { of: { group: 'autoscaling', version: 'v1', kind: 'Scale' }, verbs: STATUS_VERBS },
}

function subresourcesOf({ plural, namespaced, kind, subresources }: Kind): readonly object[] {
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

/** All resources of some groups in one answer. */
function aggregate(served: Served, of: readonly string[]): Document {
  const items = of.map((group) => {
    const kinds = KINDS.filter((kind) => kind.group === group && hasKind(served, kind))
    const version = kinds[0]?.version ?? 'v1'
    const metadata = group === '' ? {} : { name: group }
    return { metadata, versions: [{ version, resources: kinds.map(discovered), freshness: 'Current' }] }
  })
  const body = { kind: 'APIGroupDiscoveryList', apiVersion: 'apidiscovery.k8s.io/v2', metadata: {}, items }
  return { code: 200, text: JSON.stringify(body), contentType: AGGREGATED }
}

function discovered(kind: Kind): object {
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

/** Group and version are those of the list. */
function responseKind(kind: Kind): object {
  return { group: '', version: '', kind: kind.kind }
}
