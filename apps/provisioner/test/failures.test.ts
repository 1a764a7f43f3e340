import { FakeClock } from '@csi-sidecars/base/testing'
import { CODES, RpcError } from '@csi-sidecars/csi'
import {
  ControllerServiceCapability_RPC_Type as ControllerRpc,
  type DeleteVolumeRequest,
  type Volume,
} from '@csi-sidecars/csi-proto'
import { ApiError, apiErrorOf } from '@csi-sidecars/kube-client'
import {
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  SECRETS,
  STORAGE_CLASSES,
  VOLUME_ATTRIBUTES_CLASSES,
} from '@csi-sidecars/kube-types'
import { DRIVER, FakeApi, pv, pvc, secret, storageClass, vac } from '@csi-sidecars/testkit'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { Process, type ProcessOptions } from '../src/testing/model/process.ts'
import { ModelStorage } from '../src/testing/model/storage.ts'

const CLAIM = { namespace: 'default', name: 'data' }
const CREDENTIALS = {
  'csi.storage.k8s.io/provisioner-secret-name': 'creds',
  'csi.storage.k8s.io/provisioner-secret-namespace': 'default',
}

let clock: FakeClock
let api: FakeApi<ApiError>
let deletions: DeleteVolumeRequest[]

beforeEach(() => {
  clock = new FakeClock()
  api = new FakeApi({ clock, errorOf: apiErrorOf })
  deletions = []
})

function begin(change: Partial<ProcessOptions>): Process {
  const onDelete = (_: string, request: DeleteVolumeRequest): void => void deletions.push(request)
  const base = { api, clock, storage: new ModelStorage(), settings: {}, onCreate: () => {}, onDelete }
  const process = new Process({ ...base, ...change })
  process.gate.open()
  process.deliverAtOnce()
  return process
}

/** Creates a claim with a class. The claim asks the driver for a volume. */
function ask(parameters: Readonly<Record<string, string>> = {}, storage = '1Gi'): void {
  api.store(STORAGE_CLASSES, storageClass('sc-1', { parameters }))
  const annotations = { 'volume.kubernetes.io/storage-provisioner': DRIVER }
  api.store(
    PERSISTENT_VOLUME_CLAIMS,
    pvc('data', { metadata: { annotations }, spec: { resources: { requests: { storage } } } }),
  )
}

const tooSmall = (volume: Volume): Volume => ({ ...volume, capacityBytes: 1n })

describe('failures', () => {
  it('a volume that is too small is deleted with the secrets of its creation', async () => {
    api.store(SECRETS, secret('creds', { user: 'me' }))
    const answer = (volume: Volume): Volume => {
      api.store(SECRETS, secret('creds', { user: 'another' }))
      return tooSmall(volume)
    }
    begin({ answer })
    ask(CREDENTIALS)
    await clock.advance(100)
    expect(deletions.map(({ secrets }) => secrets)).toEqual([{ user: 'me' }])
  })

  it('the deletion of a volume that is too small is tried again only within the time limit of one call', async () => {
    const onDelete = async (_: string, request: DeleteVolumeRequest): Promise<void> => {
      deletions.push(request)
      await clock.sleep(6_000)
      throw new RpcError(CODES.DeadlineExceeded, 'context deadline exceeded')
    }
    const process = begin({ answer: tooSmall, onDelete, settings: { timeoutMs: 10_000 } })
    ask()
    await clock.advance(12_500)
    expect(deletions).toHaveLength(2)
    expect(process.events.at(-1)).toMatch(/^ProvisioningFailed: .* failed, volume is orphaned: rpc error/)
  })

  it('the deletion of a volume that is too small is tried five times', async () => {
    const onDelete = (_: string, request: DeleteVolumeRequest): Promise<void> => {
      deletions.push(request)
      return Promise.reject(new RpcError(CODES.Internal, 'stays'))
    }
    let creations = 0
    const answer = (volume: Volume): Volume => {
      creations += 1
      return creations === 1 ? tooSmall(volume) : volume
    }
    begin({ answer, onDelete })
    ask()
    await clock.advance(60_000)
    expect(creations).toBe(2)
    expect(deletions).toHaveLength(5)
  })

  it('a migrated volume without an in-tree form is deleted, and the creation then counts as ended', async () => {
    const [driver, inTree] = ['pd.csi.storage.gke.io', 'kubernetes.io/gce-pd']
    const process = begin({ settings: { names: { driver, inTree } } })
    api.store(STORAGE_CLASSES, storageClass('sc-1', { provisioner: inTree }))
    const owner = { 'volume.kubernetes.io/storage-provisioner': inTree, 'pv.kubernetes.io/migrated-to': driver }
    api.store(PERSISTENT_VOLUME_CLAIMS, pvc('data', { metadata: { annotations: owner } }))
    await clock.advance(500)
    expect(deletions).toHaveLength(1)
    expect(process.events.at(-1)).toMatch(/^ProvisioningFailed: /)
    api.delete(PERSISTENT_VOLUME_CLAIMS, CLAIM)
    await clock.advance(60_000)
    expect(deletions).toHaveLength(1)
  })

  it('a claim with a VolumeAttributesClass and an in-tree class causes no call, because Kubernetes could not store its volume', async () => {
    const [driver, inTree] = ['pxd.portworx.com', 'kubernetes.io/portworx-volume']
    const creations: string[] = []
    const process = begin({
      settings: { names: { driver, inTree } },
      controller: [ControllerRpc.MODIFY_VOLUME],
      onCreate: (name) => void creations.push(name),
    })
    api.store(STORAGE_CLASSES, storageClass('sc-1', { provisioner: inTree }))
    api.store(VOLUME_ATTRIBUTES_CLASSES, vac('gold', { driverName: driver }))
    const annotations = { 'volume.kubernetes.io/storage-provisioner': inTree, 'pv.kubernetes.io/migrated-to': driver }
    const spec = { volumeAttributesClassName: 'gold' }
    api.store(PERSISTENT_VOLUME_CLAIMS, pvc('data', { metadata: { annotations }, spec }))
    await clock.advance(500)
    expect(creations).toEqual([])
    expect(process.events.at(-1)).toBe(
      'ProvisioningFailed: the VolumeAttributesClass gold needs a StorageClass of the driver pxd.portworx.com, but the StorageClass sc-1 names the in-tree plugin kubernetes.io/portworx-volume',
    )
  })

  it('an API server that calls the name of a missing PersistentVolume taken gets requests with growing pauses', async () => {
    const process = begin({})
    const pass = process.gate.pass.bind(process.gate)
    let tries = 0
    process.gate.pass = (outgoing, effect, passing) => {
      if (!outgoing.label.startsWith('create persistentvolumes')) return pass(outgoing, effect, passing)
      tries += 1
      return Promise.reject(new ApiError({ code: 409, reason: 'AlreadyExists', message: 'taken' }))
    }
    ask()
    await clock.advance(10_000)
    expect(tries).toBeGreaterThan(5)
    expect(tries).toBeLessThan(20)
    expect(process.events).toContainEqual(expect.stringContaining('cannot store the PersistentVolume'))
  })

  it('a volume that is created after its claim was deleted causes no event of success', async () => {
    let isLate = true
    const answer = (volume: Volume): Volume => {
      if (!isLate) return volume
      isLate = false
      throw new RpcError(CODES.DeadlineExceeded, 'context deadline exceeded')
    }
    const process = begin({ answer })
    ask()
    await clock.advance(100)
    api.delete(PERSISTENT_VOLUME_CLAIMS, CLAIM)
    await clock.advance(5_000)
    expect(api.server.list(PERSISTENT_VOLUMES)).toHaveLength(1)
    expect(process.events.filter((event) => event.startsWith('ProvisioningSucceeded'))).toEqual([])
  })

  it('a forbidden write of the PersistentVolume is repeated without another CreateVolume, and is an event', async () => {
    const creations: unknown[] = []
    let refusals = 3
    const process = begin({ onCreate: (...call) => void creations.push(call) })
    const pass = process.gate.pass.bind(process.gate)
    process.gate.pass = (outgoing, effect, passing) => {
      if (outgoing.request?.verb !== 'create' || refusals === 0) return pass(outgoing, effect, passing)
      refusals -= 1
      return Promise.reject(new ApiError({ code: 403, reason: 'Forbidden', message: 'no PersistentVolumes' }))
    }
    ask()
    await clock.advance(1_000)
    expect(process.events).toContainEqual(
      expect.stringMatching(/^ProvisioningFailed: cannot store the Pers.*: no PersistentVolumes$/),
    )
    expect([refusals, creations.length, api.server.list(PERSISTENT_VOLUMES).length]).toEqual([0, 1, 1])
  })

  it('a volume whose Secret is not UTF-8 is not deleted without secrets', async () => {
    api.store(SECRETS, { ...secret('creds'), data: { key: '/w==' } })
    const annotations = {
      'pv.kubernetes.io/provisioned-by': DRIVER,
      'volume.kubernetes.io/provisioner-deletion-secret-name': 'creds',
      'volume.kubernetes.io/provisioner-deletion-secret-namespace': 'default',
    }
    const spec = { persistentVolumeReclaimPolicy: 'Delete' }
    api.store(PERSISTENT_VOLUMES, pv('pv-1', { metadata: { annotations }, spec, status: { phase: 'Released' } }))
    const process = begin({})
    await clock.advance(3_000)
    expect(deletions).toEqual([])
    expect(process.events).toEqual([expect.stringMatching(/^VolumeFailedDelete: .*invalid UTF-8$/)])
  })

  it('a refused selection of the own node is an event of the claim', async () => {
    const node = {
      name: 'node-1',
      segments: undefined,
      immediateBinding: true,
      baseDelayMs: 0,
      maxDelayMs: 0,
      rescheduleAfterMs: 0,
    }
    const process = begin({ settings: { node } })
    const pass = process.gate.pass.bind(process.gate)
    process.gate.pass = (outgoing, effect, passing) => {
      if (outgoing.request?.verb !== 'replace') return pass(outgoing, effect, passing)
      return Promise.reject(new ApiError({ code: 403, reason: 'Forbidden', message: 'no' }))
    }
    ask({}, '0')
    await clock.advance(100)
    const message = 'node check failed: PVC default/data: selecting node "node-1" for PVC failed'
    expect(process.events).toContainEqual(expect.stringContaining(`ProvisioningFailed: ${message}`))
  })
})
