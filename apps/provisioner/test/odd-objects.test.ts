import { FakeClock } from '@csi-sidecars/base/testing'
import { apiErrorOf } from '@csi-sidecars/kube-client'
import {
  type KubeObject,
  PERSISTENT_VOLUME_CLAIM_MESSAGE,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUME_MESSAGE,
  PERSISTENT_VOLUMES,
  type PersistentVolumeClaim,
  STORAGE_CLASS_MESSAGE,
  STORAGE_CLASSES,
} from '@csi-sidecars/kube-types'
import { anyObject, FakeApi } from '@csi-sidecars/testkit'
import { expect, it } from '@jest/globals'
import { Process } from '../src/testing/model/process.ts'
import { DRIVER, ModelStorage } from '../src/testing/model/storage.ts'

const OWNER = 'volume.kubernetes.io/storage-provisioner'
const OBJECTS = 1_000

type Odd = KubeObject & { readonly spec?: object }

/** Returns the object with a unique name, and with these fields in place of the random fields. */
function named<T extends Odd>(object: T, seed: number, fields: Odd): T {
  const { annotations, ...metadata } = fields.metadata ?? {}
  return {
    ...object,
    ...fields,
    metadata: {
      ...object.metadata,
      ...metadata,
      name: `odd-${seed}`,
      annotations: { ...object.metadata?.annotations, ...annotations },
    },
    spec: { ...object.spec, ...fields.spec },
  }
}

it('the provisioner creates the volume of a claim although the cluster has a thousand objects with random fields', async () => {
  const clock = new FakeClock()
  const api = new FakeApi({ clock, errorOf: apiErrorOf, validates: false })
  const storage = new ModelStorage()
  const process = new Process({ api, clock, storage, settings: {}, onCreate: () => {}, onDelete: () => {} })
  process.gate.open()
  process.deliverAtOnce()
  for (let seed = 0; seed < OBJECTS; seed += 1) {
    const { server } = api
    switch (seed % 4) {
      case 0: {
        const object = anyObject('StorageClass', STORAGE_CLASS_MESSAGE, seed).json
        server.create(STORAGE_CLASSES, named(object as Odd, seed, { provisioner: DRIVER } as Odd) as never)
        break
      }
      case 1: {
        const object = anyObject('PersistentVolume', PERSISTENT_VOLUME_MESSAGE, seed).json
        const annotations = { 'pv.kubernetes.io/provisioned-by': DRIVER }
        const status = { phase: 'Released' }
        const fields = { metadata: { annotations }, spec: { persistentVolumeReclaimPolicy: 'Delete' }, status }
        server.create(PERSISTENT_VOLUMES, named(object as Odd, seed, fields) as never)
        break
      }
      default: {
        const object = anyObject('PersistentVolumeClaim', PERSISTENT_VOLUME_CLAIM_MESSAGE, seed).json
        const spec = { storageClassName: `odd-${seed - (seed % 4)}`, volumeName: seed % 3 === 0 ? 'other' : '' }
        const metadata = { namespace: 'ns', uid: `uid-${seed}`, annotations: { [OWNER]: DRIVER } }
        server.create(PERSISTENT_VOLUME_CLAIMS, named(object as Odd, seed, { metadata, spec }) as never)
      }
    }
    if (seed % 50 === 0) await clock.advance(100)
  }
  api.server.create(STORAGE_CLASSES, { metadata: { name: 'fast' }, provisioner: DRIVER, reclaimPolicy: 'Delete' })
  const claim: PersistentVolumeClaim = {
    metadata: { namespace: 'ns', name: 'usual', annotations: { [OWNER]: DRIVER } },
    spec: { accessModes: ['ReadWriteOnce'], storageClassName: 'fast', resources: { requests: { storage: '1Gi' } } },
  }
  const { metadata } = api.server.create(PERSISTENT_VOLUME_CLAIMS, claim)
  await clock.advance(120_000)
  expect(api.server.get(PERSISTENT_VOLUMES, { name: `pvc-${metadata?.uid}` })).toBeDefined()
  expect(storage.volumes.size).toBeGreaterThan(10)
  const lines = process.log.lines.filter(({ error }) => error instanceof TypeError || error instanceof RangeError)
  expect(lines.map(({ message, error }) => `${message}: ${String(error)}`)).toEqual([])
  process.kill()
}, 60_000)
