import { at, isList, isObject, type Json, type JsonObject, listAt, objectAt, textAt } from '../schema/json.ts'

const READ_ONLY_BY_OTHERS = 0o644
const TOKEN_SECONDS = 3600

/** What the spec of a pod has when its writer says nothing else. */
export function withSpecDefaults(spec: JsonObject): JsonObject {
  // The older of its two names says the same.
  const account = spec['serviceAccountName'] ?? spec['serviceAccount']
  const containers = (field: string): Json[] => listAt(spec, field).map((each) => withContainerDefaults(each))
  return {
    dnsPolicy: 'ClusterFirst',
    restartPolicy: 'Always',
    schedulerName: 'default-scheduler',
    securityContext: {},
    terminationGracePeriodSeconds: 30,
    ...spec,
    ...(account === undefined ? {} : { serviceAccount: account }),
    containers: containers('containers'),
    ...(spec['initContainers'] === undefined ? {} : { initContainers: containers('initContainers') }),
    ...(spec['volumes'] === undefined ? {} : { volumes: listAt(spec, 'volumes').map(withVolumeDefaults) }),
  }
}

function withContainerDefaults(container: Json): Json {
  if (!isObject(container)) return container
  const image = textAt(container, 'image') ?? ''
  const ports = listAt(container, 'ports')
  const tag = /:([^/@:]+)(?:@|$)/.exec(image)?.[1] ?? (image.includes('@') ? 'pinned' : 'latest')
  return {
    imagePullPolicy: tag === 'latest' ? 'Always' : 'IfNotPresent',
    terminationMessagePath: '/dev/termination-log',
    terminationMessagePolicy: 'File',
    ...container,
    ...present(container, 'env', (env) => listOf(env, withFieldVersion)),
    ...present(container, 'lifecycle', withHandlerDefaults),
    ...(ports.length === 0 ? {} : { ports: ports.map((port) => ({ protocol: 'TCP', ...Object(port) })) }),
    ...Object.assign({}, ...PROBES.map((probe) => present(container, probe, withProbeDefaults))),
  }
}

const PROBES = ['livenessProbe', 'readinessProbe', 'startupProbe']

/** A field with its value, if the object has it. */
function present(object: JsonObject, field: string, change: (value: Json) => Json): JsonObject {
  const value = object[field]
  return value === undefined ? {} : { [field]: change(value) }
}

function listOf(value: Json, change: (item: Json) => Json): Json {
  return isList(value) ? value.map(change) : value
}

function within(value: Json, field: string, change: (inner: Json) => Json): Json {
  return isObject(value) ? { ...value, ...present(value, field, change) } : value
}

function withProbeDefaults(probe: Json): Json {
  if (!isObject(probe)) return probe
  const timed = { failureThreshold: 3, periodSeconds: 10, successThreshold: 1, timeoutSeconds: 1, ...probe }
  return within(within(timed, 'httpGet', withHttpDefaults), 'grpc', (grpc) => ({
    ...Object(grpc),
    service: at(grpc, 'service') ?? '',
  }))
}

function withHandlerDefaults(lifecycle: Json): Json {
  const handler = (value: Json): Json => within(value, 'httpGet', withHttpDefaults)
  return within(within(lifecycle, 'postStart', handler), 'preStop', handler)
}

function withHttpDefaults(action: Json): Json {
  return { path: '/', scheme: 'HTTP', ...Object(action) }
}

/** Which version of a pod's fields a variable or a file is about. */
function withFieldVersion(item: Json): Json {
  const versioned = (field: Json): Json => ({ apiVersion: 'v1', ...Object(field) })
  return within(
    within(item, 'valueFrom', (from) => within(from, 'fieldRef', versioned)),
    'fieldRef',
    versioned,
  )
}

function withVolumeDefaults(volume: Json): Json {
  if (!isObject(volume)) return volume
  const sources = Object.keys(volume).filter((key) => key !== 'name')
  if (sources.length === 0) return { ...volume, emptyDir: {} }
  const moded = ['secret', 'configMap', 'projected', 'downwardAPI'].find((source) => isObject(volume[source]))
  if (moded !== undefined) {
    const source = withItems({ defaultMode: READ_ONLY_BY_OTHERS, ...objectAt(volume, moded) })
    return { ...volume, [moded]: within(source, 'sources', (sources) => listOf(sources, withProjectionDefaults)) }
  }
  const host = objectAt(volume, 'hostPath')
  return host === undefined ? volume : { ...volume, hostPath: { type: '', ...host } }
}

function withItems(source: Json): Json {
  return within(source, 'items', (items) => listOf(items, withFieldVersion))
}

function withProjectionDefaults(projection: Json): Json {
  const token = (value: Json): Json => ({ expirationSeconds: TOKEN_SECONDS, ...Object(value) })
  return within(within(projection, 'serviceAccountToken', token), 'downwardAPI', withItems)
}
