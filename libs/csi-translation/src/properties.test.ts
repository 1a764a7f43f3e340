import type { PersistentVolume } from '@csi-sidecars/kube-types'
import { expect, it } from '@jest/globals'
import fc from 'fast-check'
import { BETA, GA } from './rules/topology.ts'
import { comparable, outcomeOf } from './testing/index.ts'
import { isPVMigratable, PLUGINS, translateCSIPVToInTree, translateInTreePVToCSI } from './translate.ts'

const zone = fc.constantFrom('us-east1-a', 'us-east1-b', 'us-east1-a__us-east1-b', 'us-west-2a', 'z', '', '__')
const text = fc.oneof(
  fc.string(),
  fc.constantFrom('', 'vol-1', 'aws://z/vol-1', 'managed', 'Shared', 'http://a/vhds/b'),
)
const optional = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined })
const strings = (...keys: string[]) =>
  fc.record(Object.fromEntries(keys.map((key) => [key, text])), { requiredKeys: [] })
const fields = (...keys: string[]) =>
  fc
    .tuple(
      strings(...keys),
      fc.record({ readOnly: fc.boolean(), partition: fc.integer({ min: 0, max: 9 }) }, { requiredKeys: [] }),
    )
    .map(([some, more]) => ({ ...some, ...more }))

const sources = {
  awsElasticBlockStore: fields('volumeID', 'fsType'),
  gcePersistentDisk: fields('pdName', 'fsType'),
  cinder: fields('volumeID', 'fsType'),
  azureDisk: fields('diskURI', 'diskName', 'kind', 'cachingMode', 'fsType'),
  azureFile: fields('secretName', 'shareName', 'secretNamespace'),
  vsphereVolume: fields('volumePath', 'fsType', 'storagePolicyName'),
  portworxVolume: fields('volumeID', 'fsType'),
}
const source = fc.oneof(...Object.entries(sources).map(([field, value]) => fc.record({ [field]: value })))

const key = fc.constantFrom(GA.zone, GA.region, BETA.zone, BETA.region, 'topology.gke.io/zone', 'other')
const expression = fc.record({ key, operator: fc.constantFrom('In', 'Exists'), values: optional(fc.array(zone)) })
const nodeAffinity = fc.record({
  required: fc.record({ nodeSelectorTerms: fc.array(fc.record({ matchExpressions: optional(fc.array(expression)) })) }),
})
const labels = fc.dictionary(key, zone, { noNullPrototype: true })
const accessModes = fc.array(fc.constantFrom('ReadWriteOnce', 'ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOncePod'))

const volume: fc.Arbitrary<PersistentVolume> = fc
  .record({
    name: fc.string(),
    labels: optional(labels),
    source,
    nodeAffinity: optional(nodeAffinity),
    accessModes: optional(accessModes),
    namespace: optional(fc.constantFrom('', 'ns')),
  })
  .map((fields) => ({
    metadata: { name: fields.name, labels: fields.labels },
    spec: {
      ...(fields.source as PersistentVolume['spec']),
      nodeAffinity: fields.nodeAffinity,
      accessModes: fields.accessModes,
      claimRef: { namespace: fields.namespace },
    },
  }))

const translated = (pv: PersistentVolume) => outcomeOf(() => translateInTreePVToCSI(pv))

it('the order of keys in an object does not change its translation', () => {
  fc.assert(
    fc.property(volume, (pv) => {
      const once = translated(pv)
      expect(translated(reversed(pv) as PersistentVolume)).toEqual(once)
      expect(translated(structuredClone(pv))).toEqual(once)
    }),
  )
})

it('a translation never changes the object that it gets', () => {
  fc.assert(
    fc.property(volume, (pv) => {
      const before = structuredClone(pv)
      const outcome = translated(frozen(pv))
      expect(pv).toEqual(before)
      if ('output' in outcome) outcomeOf(() => translateCSIPVToInTree(frozen(outcome.output as PersistentVolume)))
    }),
  )
})

it('unknown fields do not change a translation', () => {
  fc.assert(
    fc.property(volume, fc.jsonValue(), (pv, unknown) => {
      const plain = translated(pv)
      const odd = translated(withField(pv, unknown) as PersistentVolume)
      expect(without(odd)).toEqual(without(plain))
    }),
  )
})

it('a translated volume names the CSI driver and keeps its other fields', () => {
  const drivers = new Set(PLUGINS.map(({ driverName }) => driverName))
  fc.assert(
    fc.property(volume, (pv) => {
      const kept = { uid: 'u', resourceVersion: '1', finalizers: ['f'], annotations: { a: 'b' } }
      const spec = { ...pv.spec, volumeMode: 'Block', mountOptions: ['ro'], capacity: { storage: '1Gi' } }
      const outcome = translated({ ...pv, metadata: { ...pv.metadata, ...kept }, spec })
      if (!('output' in outcome)) return
      const output = outcome.output as PersistentVolume
      expect(isPVMigratable(output)).toBe(false)
      expect(drivers).toContain(output.spec?.csi?.driver)
      expect(output.metadata).toEqual(comparable({ ...pv.metadata, ...kept }))
      expect(output.spec).toMatchObject({ volumeMode: 'Block', mountOptions: ['ro'], capacity: { storage: '1Gi' } })
    }),
  )
})

function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, field]) => [key, reversed(field)]),
  )
}

function frozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null) {
    for (const field of Object.values(value)) frozen(field)
    Object.freeze(value)
  }
  return value
}

/** Returns a copy with an unknown field in each object except maps of texts. */
function withField(value: unknown, field: unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => withField(item, field))
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([key, inner]) => [key, key === 'labels' ? inner : withField(inner, field)])
  return { ...Object.fromEntries(entries), unheardOf: field }
}

function without(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value, (key, field) => (key === 'unheardOf' ? undefined : field)))
}
