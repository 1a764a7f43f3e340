import { isObject, type Json, type JsonObject, listAt, textAt } from '../schema/json.ts'

/** What the spec of a pod has by what it says, beside the defaults of its types. */
export function withSpecDefaults(spec: JsonObject): JsonObject {
  // The older of its two names says the same.
  const account = spec['serviceAccountName'] ?? spec['serviceAccount']
  const containers = ['containers', 'initContainers'].filter((field) => spec[field] !== undefined)
  return {
    ...spec,
    ...(account === undefined ? {} : { serviceAccount: account }),
    ...Object.fromEntries(containers.map((field) => [field, listAt(spec, field).map(withPullPolicy)])),
    ...(spec['volumes'] === undefined ? {} : { volumes: listAt(spec, 'volumes').map(withSource) }),
  }
}

function withPullPolicy(container: Json): Json {
  const image = textAt(container, 'image') ?? ''
  const tag = /:([^/@:]+)(?:@|$)/.exec(image)?.[1] ?? (image.includes('@') ? 'pinned' : 'latest')
  return { imagePullPolicy: tag === 'latest' ? 'Always' : 'IfNotPresent', ...Object(container) }
}

/** A volume without a source is an empty directory. */
function withSource(volume: Json): Json {
  const named = isObject(volume) && Object.keys(volume).every((key) => key === 'name')
  return named ? { ...volume, emptyDir: {} } : volume
}
