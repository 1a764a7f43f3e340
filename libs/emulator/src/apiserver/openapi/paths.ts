import type { JsonObject } from '../schema/json.ts'
import type { Kind } from '../schema/kinds.ts'

/** How one version of OpenAPI writes parameters. */
type ParameterStyle = (name: string, type: string) => JsonObject

const READ = ['fieldSelector', 'labelSelector', 'limit', 'continue', 'resourceVersion', 'resourceVersionMatch', 'watch']
const WRITE = ['dryRun', 'fieldManager', 'fieldValidation']

/** The paths of a kind, as far as clients look at them: which verbs there are, and which options they take. */
export function pathsOf(kind: Kind, style: ParameterStyle): JsonObject {
  const root = kind.group === '' ? `/api/${kind.version}` : `/apis/${kind.group}/${kind.version}`
  const place = kind.namespaced ? `${root}/namespaces/{namespace}/${kind.plural}` : `${root}/${kind.plural}`
  const { group, version } = kind
  const gvk = { group, kind: kind.kind, version }
  const operation = (action: string, names: readonly string[]): JsonObject => ({
    parameters: names.map((name) =>
      style(name, name === 'limit' ? 'integer' : name === 'watch' ? 'boolean' : 'string'),
    ),
    responses: { 200: { description: 'OK' } },
    'x-kubernetes-action': action,
    'x-kubernetes-group-version-kind': gvk,
  })
  if (kind.reviewOnly) return { [place]: { post: operation('post', WRITE) } }
  const whole = {
    get: operation('list', READ),
    post: operation('post', WRITE),
    delete: operation('deletecollection', [...READ, 'dryRun']),
  }
  const one = {
    get: operation('get', []),
    put: operation('put', WRITE),
    patch: operation('patch', [...WRITE, 'force']),
    delete: operation('delete', ['dryRun', 'gracePeriodSeconds', 'propagationPolicy']),
  }
  const everywhere = kind.namespaced ? { [`${root}/${kind.plural}`]: { get: operation('list', READ) } } : {}
  const status = { get: one.get, put: one.put, patch: one.patch }
  const parts = kind.subresources.includes('status') ? { [`${place}/{name}/status`]: status } : {}
  return { ...everywhere, [place]: whole, [`${place}/{name}`]: one, ...parts }
}
