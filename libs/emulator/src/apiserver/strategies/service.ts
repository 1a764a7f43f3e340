import type { FieldErrors } from '../http/field-errors.ts'
import {
  at,
  type Json,
  type JsonObject,
  type KubeObject,
  listAt,
  objectAt,
  textAt,
  withField,
  withSpec,
} from '../schema/json.ts'
import { SERVICE } from '../schema/kinds.ts'
import type { Store } from '../storage/store.ts'
import { label } from './names.ts'
import type { Strategy } from './strategy.ts'

const TYPES = ['ClusterIP', 'ExternalName', 'LoadBalancer', 'NodePort']
const AFFINITY_SECONDS = 10_800
const HEADLESS = 'None'
/** The fields that say where a service is reached. */
const ADDRESS_FIELDS = ['clusterIP', 'clusterIPs', 'ipFamilies', 'ipFamilyPolicy']

export const service: Strategy = {
  name: label,
  defaults: (object) => withSpec(object, withDefaults),
  /** What was given to it once it keeps, unless the writer says otherwise. */
  prepareUpdate(object, old) {
    const before = objectAt(old, 'spec') ?? {}
    return withSpec(object, (spec) => {
      if (spec['type'] === 'ExternalName' || before['type'] === 'ExternalName') return spec
      const kept = ADDRESS_FIELDS.filter((field) => spec[field] === undefined)
      const fields = Object.fromEntries(kept.map((field) => [field, before[field]]))
      return { ...spec, ...fields, ...withNodePortsOf(spec, before) }
    })
  },
  allocate(store, object) {
    return withSpec(object, (spec) => {
      if (spec['type'] === 'ExternalName') {
        return ADDRESS_FIELDS.reduce((rest, field) => withField(rest, field, undefined), spec)
      }
      const clusterIP = textAt(spec, 'clusterIP') || freeAddress(store)
      const families = { clusterIPs: [clusterIP], ipFamilies: ['IPv4'], ipFamilyPolicy: 'SingleStack' }
      return { ...families, ...spec, clusterIP, ...allocatedPorts(store, spec) }
    })
  },
  validate: checkService,
  validateUpdate(errors, object, old) {
    const [now, before] = [object, old].map((each) => textAt(each, 'spec', 'clusterIP') ?? '')
    const external = [object, old].some((each) => textAt(each, 'spec', 'type') === 'ExternalName')
    if (!external && before !== '' && now !== before) {
      errors.invalid('spec.clusterIPs[0]', [now ?? ''], 'may not change once set')
    }
  },
}

function withDefaults(spec: JsonObject): JsonObject {
  const type = textAt(spec, 'type') || 'ClusterIP'
  const affinity = textAt(spec, 'sessionAffinity') || 'None'
  const external = type === 'NodePort' || type === 'LoadBalancer'
  const clientIp = { sessionAffinityConfig: { clientIP: { timeoutSeconds: AFFINITY_SECONDS } } }
  return {
    ...(external ? { externalTrafficPolicy: 'Cluster' } : {}),
    ...(type === 'ExternalName' ? {} : { internalTrafficPolicy: 'Cluster' }),
    ...(type === 'LoadBalancer' ? { allocateLoadBalancerNodePorts: true } : {}),
    ...(affinity === 'ClientIP' ? clientIp : {}),
    ...spec,
    type,
    sessionAffinity: affinity,
    ...(spec['ports'] === undefined ? {} : { ports: listAt(spec, 'ports').map(withPortDefaults) }),
  }
}

function withPortDefaults(port: Json): Json {
  const given = { protocol: 'TCP', ...objectAt(port) }
  const target = at(given, 'targetPort') ?? 0
  return { ...given, targetPort: target === 0 || target === '' ? (at(given, 'port') ?? 0) : target }
}

function withNodePortsOf(spec: JsonObject, before: JsonObject): JsonObject {
  if (spec['ports'] === undefined || !hasNodePorts(spec)) return {}
  const ports = listAt(spec, 'ports').map((port) => {
    const same = listAt(before, 'ports').find(
      (each) => at(each, 'port') === at(port, 'port') && at(each, 'protocol') === at(port, 'protocol'),
    )
    const nodePort = at(port, 'nodePort') ?? at(same, 'nodePort')
    return nodePort === undefined ? port : { ...Object(port), nodePort }
  })
  return { ports }
}

function hasNodePorts(spec: JsonObject): boolean {
  const type = textAt(spec, 'type')
  return type === 'NodePort' || (type === 'LoadBalancer' && spec['allocateLoadBalancerNodePorts'] !== false)
}

const FIRST_NODE_PORT = 30_000

function allocatedPorts(store: Store, spec: JsonObject): JsonObject {
  if (!hasNodePorts(spec)) return {}
  const taken = new Set(
    [...specs(store), spec].flatMap((each) => listAt(each, 'ports').map((port) => at(port, 'nodePort'))),
  )
  const ports = listAt(spec, 'ports').map((port) => {
    if (at(port, 'nodePort') !== undefined) return port
    let nodePort = FIRST_NODE_PORT
    while (taken.has(nodePort)) nodePort += 1
    taken.add(nodePort)
    return { ...Object(port), nodePort }
  })
  return { ports }
}

/** The first address of 10.96.0.0/12 that no service has; 10.96.0.1 would be that of the API server. */
function freeAddress(store: Store): string {
  const taken = new Set([...specs(store)].map((spec) => textAt(spec, 'clusterIP')))
  for (let host = 2; ; host += 1) {
    const address = `10.${96 + (host >> 16)}.${(host >> 8) & 255}.${host & 255}`
    if (!taken.has(address)) return address
  }
}

function specs(store: Store): readonly JsonObject[] {
  return [...store.of(SERVICE).entries()].map(({ object }) => objectAt(object, 'spec') ?? {})
}

function checkService(errors: FieldErrors, object: KubeObject): void {
  const spec = objectAt(object, 'spec') ?? {}
  const type = textAt(spec, 'type') ?? ''
  const headless = textAt(spec, 'clusterIP') === HEADLESS
  const ports = listAt(spec, 'ports')
  if (ports.length === 0 && !headless && type !== 'ExternalName') errors.required('spec.ports')
  if (headless && (type === 'NodePort' || type === 'LoadBalancer')) {
    errors.invalid('spec.clusterIPs[0]', HEADLESS, `may not be set to 'None' for ${type} services`)
  }
  if (type === 'ExternalName' && (textAt(spec, 'externalName') ?? '') === '') errors.required('spec.externalName')
  checkPorts(errors, ports)
  errors.oneOf('spec.sessionAffinity', textAt(spec, 'sessionAffinity') ?? '', ['ClientIP', 'None'])
  errors.oneOf('spec.type', type, TYPES)
  if (type !== 'ClusterIP') return
  ports.forEach((port, index) => {
    const why = "may not be used when `type` is 'ClusterIP'"
    if (at(port, 'nodePort') !== undefined) errors.forbidden(`spec.ports[${index}].nodePort`, why)
  })
}

const PROTOCOLS = ['SCTP', 'TCP', 'UDP']

function checkPorts(errors: FieldErrors, ports: readonly Json[]): void {
  const names = new Set<string>()
  ports.forEach((port, index) => {
    const path = `spec.ports[${index}]`
    const name = textAt(port, 'name') ?? ''
    if (name === '' && ports.length > 1) errors.required(`${path}.name`)
    if (name !== '') {
      errors.checked(`${path}.name`, name, label)
      errors.unique(`${path}.name`, name, names)
    }
    for (const field of ['port', 'targetPort']) {
      const number = at(port, field) ?? 0
      if (typeof number !== 'number' || (number >= 1 && number <= 65_535)) continue
      errors.invalid(`${path}.${field}`, number, 'must be between 1 and 65535, inclusive')
    }
    errors.oneOf(`${path}.protocol`, textAt(port, 'protocol') ?? '', PROTOCOLS)
  })
}
