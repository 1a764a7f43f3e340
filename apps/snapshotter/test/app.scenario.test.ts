import { VOLUME_GROUP_SNAPSHOT_CONTENTS, VOLUME_SNAPSHOT_CONTENTS } from '@csi-sidecars/kube-types'
import { ANY, type Cluster, runScenario, type Scenario } from '@csi-sidecars/testkit'
import { describe, it } from '@jest/globals'
import { GROUP_NAMES, SNAPSHOT_NAMES } from '../src/caches/names.ts'
import { groupClass, preProvisioned, snapshotClass, UID, vgsc, vsc } from '../src/testing/objects.ts'
import { runSnapshotter } from '../src/testing/run-snapshotter.ts'

const CONTENT = 'PATCH volumesnapshotcontents/c'
const STATUS = `${CONTENT}/status`
const GROUP_CONTENT = 'PATCH volumegroupsnapshotcontents/g'
const VERSION = { uid: ANY, resourceVersion: ANY }
const TIME = { seconds: 1_700_000_000n, nanos: 123_456_789 }

const marked = (names: { readonly beingCreated: string }, value: 'yes' | null): object => ({
  metadata: { uid: ANY, annotations: { [names.beingCreated]: value } },
})

const scenario = (model: Omit<Scenario, 'run'> & { flags?: readonly string[] }): Promise<void> => {
  const { flags = [], ...rest } = model
  const run = ({ kubeconfig, driver }: Cluster, signal: AbortSignal): Promise<void> =>
    runSnapshotter({ kubeconfig, socket: driver.socket, flags }, signal)
  return runScenario({ timeoutMs: 30_000, ignoreCalls: ['GroupControllerGetCapabilities'], ...rest, run })
}

const driver = {
  controller: ['CREATE_DELETE_SNAPSHOT', 'LIST_SNAPSHOTS'],
  plugin: ['CONTROLLER_SERVICE', 'GROUP_CONTROLLER_SERVICE'],
} as const

const snapshot = (change: object = {}): object => ({
  snapshot: {
    snapshotId: 'snap-1',
    sourceVolumeId: 'vol-1',
    sizeBytes: 1024n,
    creationTime: TIME,
    readyToUse: true,
    groupSnapshotId: '',
    accessibleTopology: [],
    ...change,
  },
})

describe('whole process', () => {
  it('the snapshotter creates a snapshot with three writes', async () => {
    await scenario({
      initial: { driver, objects: [snapshotClass('k', { parameters: { a: 'b' } }), vsc()] },
      steps: [
        { write: CONTENT, body: marked(SNAPSHOT_NAMES, 'yes') },
        {
          call: 'CreateSnapshot',
          request: { name: `snapshot-${UID}`, sourceVolumeId: 'vol-1', parameters: { a: 'b' }, secrets: {} },
          reply: snapshot(),
        },
        {
          write: STATUS,
          body: {
            metadata: VERSION,
            status: { snapshotHandle: 'snap-1', readyToUse: true, creationTime: ANY, restoreSize: 1024 },
          },
        },
        { write: CONTENT, body: marked(SNAPSHOT_NAMES, null) },
      ],
    })
  })

  it('the snapshotter reports a final failure of CreateSnapshot after it has removed the annotation', async () => {
    await scenario({
      initial: { driver, objects: [snapshotClass(), vsc()] },
      flags: ['--retry-interval-start=10m', '--retry-interval-max=10m'],
      steps: [
        { write: CONTENT, body: marked(SNAPSHOT_NAMES, 'yes') },
        { call: 'CreateSnapshot', fail: ['INTERNAL', 'no'] },
        { write: CONTENT, body: marked(SNAPSHOT_NAMES, null) },
        {
          write: STATUS,
          body: {
            metadata: VERSION,
            status: {
              readyToUse: false,
              error: {
                time: ANY,
                message:
                  'Failed to create snapshot: failed to take snapshot of the volume vol-1: "rpc error: code = Internal desc = no"',
              },
            },
          },
        },
      ],
    })
  })

  it('the snapshotter asks the driver about a pre-provisioned snapshot', async () => {
    await scenario({
      initial: { driver, objects: [preProvisioned()] },
      steps: [
        {
          call: 'ListSnapshots',
          request: { snapshotId: 'snap-given' },
          reply: { entries: [snapshot({ snapshotId: 'snap-given' })], nextToken: '' },
        },
        {
          write: STATUS,
          body: {
            metadata: VERSION,
            status: { snapshotHandle: 'snap-given', readyToUse: true, creationTime: ANY, restoreSize: 1024 },
          },
        },
      ],
    })
  })

  it('the snapshotter deletes the snapshot of a deleted content, clears the status and removes the finalizer', async () => {
    const status = { snapshotHandle: 'snap-1', readyToUse: true, creationTime: 5, restoreSize: 6 }
    const metadata = { annotations: { [SNAPSHOT_NAMES.beingDeleted]: 'yes' } }
    await scenario({
      initial: { driver, objects: [vsc('c', { metadata, status })] },
      when: ({ api }) => api.delete(VOLUME_SNAPSHOT_CONTENTS, { name: 'c' }),
      steps: [
        { call: 'DeleteSnapshot', request: { snapshotId: 'snap-1' } },
        {
          write: STATUS,
          body: {
            metadata: VERSION,
            status: { snapshotHandle: null, readyToUse: null, creationTime: null, restoreSize: null },
          },
        },
        { write: CONTENT, body: ANY },
      ],
    })
  })

  it('the snapshotter creates and deletes a group snapshot', async () => {
    const members = ['s-1', 's-2'].map((snapshotId, index) => ({
      snapshotId,
      sourceVolumeId: `vol-${index + 1}`,
      sizeBytes: 0n,
      creationTime: undefined,
      readyToUse: true,
      groupSnapshotId: 'g-1',
      accessibleTopology: [],
    }))
    const groupSnapshot = { groupSnapshotId: 'g-1', snapshots: members, creationTime: TIME, readyToUse: true }
    const metadata = { annotations: { [GROUP_NAMES.beingDeleted]: 'yes' } }
    await scenario({
      initial: { driver, objects: [groupClass(), vgsc('g', { metadata })] },
      when: async ({ api }) => {
        await api.until(VOLUME_GROUP_SNAPSHOT_CONTENTS, { name: 'g' }, (object) => object?.status?.readyToUse === true)
        api.delete(VOLUME_GROUP_SNAPSHOT_CONTENTS, { name: 'g' })
      },
      steps: [
        { write: GROUP_CONTENT, body: marked(GROUP_NAMES, 'yes') },
        {
          call: 'CreateVolumeGroupSnapshot',
          request: { name: `groupsnapshot-${UID}`, sourceVolumeIds: ['vol-1', 'vol-2'] },
          reply: { groupSnapshot },
        },
        {
          write: `${GROUP_CONTENT}/status`,
          body: {
            metadata: VERSION,
            status: {
              volumeGroupSnapshotHandle: 'g-1',
              readyToUse: true,
              creationTime: '2023-11-14T22:13:20Z',
              volumeSnapshotInfoList: [
                { volumeHandle: 'vol-1', snapshotHandle: 's-1', readyToUse: true },
                { volumeHandle: 'vol-2', snapshotHandle: 's-2', readyToUse: true },
              ],
            },
          },
        },
        { write: GROUP_CONTENT, body: marked(GROUP_NAMES, null) },
        { call: 'DeleteVolumeGroupSnapshot', request: { groupSnapshotId: 'g-1', snapshotIds: ['s-1', 's-2'] } },
        {
          write: `${GROUP_CONTENT}/status`,
          body: {
            metadata: VERSION,
            status: { volumeGroupSnapshotHandle: null, readyToUse: null, creationTime: null, error: null },
          },
        },
        { write: GROUP_CONTENT, body: ANY },
      ],
    })
  })
})
