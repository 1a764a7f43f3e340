import type { Driver } from '@csi-sidecars/csi'
import {
  ControllerServiceCapability_RPC_Type as ControllerRpc,
  NodeServiceCapability_RPC_Type as NodeRpc,
} from '@csi-sidecars/csi-proto'
import type { SeenCall } from '@csi-sidecars/disturb'
import type { KubeClient } from '@csi-sidecars/kube-client'
import {
  PERSISTENT_VOLUME_CLAIMS,
  PODS,
  Quantity,
  STORAGE_CLASSES,
  type StorageClass,
  VOLUME_ATTRIBUTES_CLASSES,
  VOLUME_SNAPSHOT_CLASSES,
  VOLUME_SNAPSHOTS,
} from '@csi-sidecars/kube-types'
import type { Caches } from '@csi-sidecars/volume-controllers'
import {
  type Attachment,
  type CachedContent,
  type Claim,
  nodeCan,
  uniqueVolumeName,
  type Volume,
} from '@csi-sidecars/volume-controllers'
import type { SidecarTarget } from '../cluster/binaries.ts'
import { ensure } from '../cluster/register.ts'
import * as expect from './expectation.ts'
import { type Expectation, short } from './expectation.ts'
import {
  CLAIM,
  type CopyName,
  claimObject,
  classObject,
  copyObject,
  goldObject,
  NAMES,
  podObject,
  snapshotClassObject,
  snapshotObject,
} from './objects.ts'
import type { StoryStep } from './run-steps.ts'

/** The parts of the cluster that the steps of the demo need. */
export interface StoryParts {
  readonly client: KubeClient
  readonly caches: Pick<Caches, 'claims' | 'volumes' | 'snapshotCaches'>
  readonly driver: Driver
  readonly connection: Pick<SidecarTarget, 'hasParameterTemplates'>
}

/** A pod on its node. */
export interface Placed {
  readonly pod: string
  readonly node: string
}

const ATTACHER = 'csi-attacher'
const RESIZER = 'csi-resizer'
const ATTACH_DETACH = 'attach-detach'
const BINDER = 'persistent-volume'
const PROVISIONER = 'csi-provisioner'
const SNAPSHOTTER = 'csi-snapshotter'
const SNAPSHOTS = 'snapshot-controller'
const YOU = 'you'
const FIRST_SIZE = '1Gi'
const SECOND_SIZE = '2Gi'

export function provisionStep(scene: StoryParts): StoryStep {
  const { client, driver, connection } = scene
  return {
    title: `A claim asks for ${FIRST_SIZE} and gets a volume`,
    act: async (signal) => {
      await ensure({ client, signal }, STORAGE_CLASSES, classObject(driver, connection))
      // The class is created long before a claim uses it: a sidecar may not retry if its cache lacks the class.
      if (driver.capabilities.controller.has(ControllerRpc.MODIFY_VOLUME)) {
        await ensure({ client, signal }, VOLUME_ATTRIBUTES_CLASSES, goldObject(driver.name))
      }
      await client.create(PERSISTENT_VOLUME_CLAIMS, claimObject(FIRST_SIZE), { signal })
    },
    expects: [
      ourClaim(YOU, 'claim data created'),
      expect.call('CreateVolume', { who: PROVISIONER, detail: (call) => `${volumeNameIn(call)}${tagsIn(call)}` }),
      expect.becomes('volume', {
        who: PROVISIONER,
        expected: 'PersistentVolume created',
        holds: isOurs,
        text: ({ key, capacity }) => `PersistentVolume ${short(key)} of ${capacity} created`,
      }),
      ourVolume(BINDER, 'PersistentVolume Bound', ({ phase }) => phase === 'Bound'),
      ourClaim(BINDER, 'claim data Bound', ({ phase }) => phase === 'Bound'),
    ],
  }
}

export function useStep(scene: StoryParts, placed: Placed): StoryStep {
  return {
    title: `Pod ${placed.pod} on ${placed.node} uses it`,
    act: async (signal) => {
      await scene.client.create(PODS, podObject(placed), { signal })
    },
    expects: [created(placed), ...arrives(scene, placed)],
  }
}

/** The events when a volume is attached to a node and mounted into a pod. */
function arrives(scene: StoryParts, { pod, node }: Placed): readonly Expectation[] {
  const attaches = scene.driver.capabilities.controller.has(ControllerRpc.PUBLISH_UNPUBLISH_VOLUME)
  const is = (each: Attachment): boolean => isOnNode(scene, each, node)
  return [
    ...(attaches ? attachesTo(scene, node, is) : []),
    ...(nodeCan(scene.driver, NodeRpc.STAGE_UNSTAGE_VOLUME) ? [nodeCall('NodeStageVolume', node)] : []),
    nodeCall('NodePublishVolume', node),
    runs({ pod, node }),
  ]
}

function runs({ pod, node }: Placed): Expectation {
  return expect.becomes('pod', {
    who: `kubelet ${node}`,
    expected: `pod ${pod} Running`,
    holds: (each) => each.name === pod && each.phase === 'Running',
  })
}

function attachesTo(scene: StoryParts, node: string, is: (each: Attachment) => boolean): readonly Expectation[] {
  return [
    expect.becomes('attachment', {
      who: ATTACH_DETACH,
      expected: 'VolumeAttachment created',
      holds: is,
      text: ({ key }) => `VolumeAttachment ${short(key)} created`,
    }),
    expect.call('ControllerPublishVolume', {
      who: ATTACHER,
      detail: (call) => `${volumeOf(call)} to ${String(call.request['nodeId'])}`,
    }),
    expect.becomes('attachment', {
      who: ATTACHER,
      expected: 'VolumeAttachment attached',
      holds: (each) => is(each) && each.attached,
    }),
    expect.becomes('node', {
      who: ATTACH_DETACH,
      expected: `${node} reports the volume as attached`,
      holds: ({ key, volumesAttached }) =>
        key === node && volumesAttached.some(({ name }) => name === volumeNameOf(scene)),
    }),
  ]
}

export function expanded(scene: StoryParts, { node }: Placed): StoryStep {
  const expands = nodeCan(scene.driver, NodeRpc.EXPAND_VOLUME)
  const isGrown = (size: string | undefined): boolean =>
    size !== undefined && Quantity.parse(size).compare(Quantity.parse(SECOND_SIZE)) >= 0
  return {
    title: `The claim is raised from ${FIRST_SIZE} to ${SECOND_SIZE}`,
    act: (signal) => patchClaim(scene, { resources: { requests: { storage: SECOND_SIZE } } }, signal),
    expects: [
      ourClaim(YOU, `claim asks for ${SECOND_SIZE}`, ({ request }) => isGrown(request)),
      expect.call('ControllerExpandVolume', { who: RESIZER, detail: volumeOf }),
      ourVolume(RESIZER, `PersistentVolume has ${SECOND_SIZE}`, ({ capacity }) => isGrown(capacity)),
      ...(expands
        ? [
            ourClaim(RESIZER, 'claim FileSystemResizePending', (each) => each.resizeStatus === 'NodeResizePending'),
            nodeCall('NodeExpandVolume', node),
          ]
        : []),
      ourClaim(expands ? `kubelet ${node}` : RESIZER, `claim has ${SECOND_SIZE}`, (each) => isGrown(each.capacity)),
    ],
  }
}

export function snapshotTaken(scene: StoryParts): StoryStep {
  const { client, driver } = scene
  const snapshotText = `snapshot ${NAMES.snapshot}`
  return {
    title: 'A snapshot of it is taken',
    act: async (signal) => {
      await ensure({ client, signal }, VOLUME_SNAPSHOT_CLASSES, snapshotClassObject(driver.name))
      await client.create(VOLUME_SNAPSHOTS, snapshotObject(), { signal })
    },
    expects: [
      expect.becomes('snapshot', {
        who: YOU,
        expected: `${snapshotText} created`,
        holds: ({ name }) => name === NAMES.snapshot,
      }),
      expect.becomes('content', { who: SNAPSHOTS, expected: 'VolumeSnapshotContent created', holds: isOfSnapshot }),
      expect.call('CreateSnapshot', { who: SNAPSHOTTER, detail: ({ request }) => `of ${request['sourceVolumeId']}` }),
      expect.becomes('content', {
        who: SNAPSHOTTER,
        expected: 'VolumeSnapshotContent ready to use',
        holds: (each) => isOfSnapshot(each) && each.readyToUse,
      }),
      expect.becomes('snapshot', {
        who: SNAPSHOTS,
        expected: `${snapshotText} ready to use`,
        holds: ({ name, readyToUse }) => name === NAMES.snapshot && readyToUse,
      }),
    ],
  }
}

/** The step in which a new claim gets a copy of the volume, from a snapshot or as a clone. */
export function copied({ client }: StoryParts, name: CopyName): StoryStep {
  const claim = `claim ${name}`
  return {
    title: name === 'clone' ? 'A claim clones the volume' : 'A claim is restored from the snapshot',
    act: async (signal) => {
      await client.create(PERSISTENT_VOLUME_CLAIMS, copyObject(name, SECOND_SIZE), { signal })
    },
    expects: [
      expect.becomes('claim', { who: YOU, expected: `${claim} created`, holds: (each) => each.name === name }),
      expect.call('CreateVolume', {
        who: PROVISIONER,
        detail: (call) =>
          `${volumeNameIn(call)} from ${name === 'clone' ? `claim ${NAMES.claim}` : `snapshot ${NAMES.snapshot}`}`,
        fits: ({ request }) => request['volumeContentSource'] !== undefined,
      }),
      expect.becomes('claim', {
        who: BINDER,
        expected: `${claim} Bound`,
        holds: (each) => each.name === name && each.phase === 'Bound',
      }),
    ],
  }
}

/** The step that deletes the copies and the snapshot. */
export function cleared(
  { client }: StoryParts,
  { copies, snapshot }: { copies: readonly CopyName[]; snapshot: boolean },
): StoryStep {
  const { namespace, snapshot: name } = NAMES
  const gone = (copy: CopyName): readonly Expectation[] => [
    expect.deleted('claim', { who: BINDER, expected: `claim ${copy} gone`, holds: (each) => each.name === copy }),
    expect.deleted('volume', {
      who: PROVISIONER,
      expected: `PersistentVolume of ${copy} gone`,
      holds: ({ claimRef }) => claimRef?.name === copy,
    }),
  ]
  return {
    title: snapshot ? 'The copies and the snapshot are deleted' : 'The copy is deleted',
    act: async (signal) => {
      for (const copy of copies) await client.delete(PERSISTENT_VOLUME_CLAIMS, { namespace, name: copy }, { signal })
      if (snapshot) await client.delete(VOLUME_SNAPSHOTS, { namespace, name }, { signal })
    },
    expects: [
      ...copies.flatMap(gone),
      ...(snapshot
        ? [
            expect.call('DeleteSnapshot', { who: SNAPSHOTTER, detail: ({ request }) => String(request['snapshotId']) }),
            expect.deleted('content', {
              who: SNAPSHOTTER,
              expected: 'VolumeSnapshotContent gone',
              holds: isOfSnapshot,
            }),
            expect.deleted('snapshot', {
              who: SNAPSHOTS,
              expected: `snapshot ${name} gone`,
              holds: (each) => each.name === name,
            }),
          ]
        : []),
    ],
  }
}

function isOfSnapshot({ snapshot }: Pick<CachedContent, 'snapshot'>): boolean {
  return snapshot === `${NAMES.namespace}/${NAMES.snapshot}`
}

export function modifyStep(scene: StoryParts): StoryStep {
  return {
    title: 'Its class becomes gold',
    act: (signal) => patchClaim(scene, { volumeAttributesClassName: NAMES.gold }, signal),
    expects: [
      expect.call('ControllerModifyVolume', { who: RESIZER, detail: volumeOf }),
      ourVolume(RESIZER, `PersistentVolume is of class ${NAMES.gold}`, (each) => each.attributesClass === NAMES.gold),
      ourClaim(RESIZER, `claim is of class ${NAMES.gold}`, (each) => each.currentAttributesClass === NAMES.gold),
    ],
  }
}

export function moveStep(scene: StoryParts, from: Placed, to: Placed): StoryStep {
  return {
    title: `The pod moves to ${to.node}`,
    act: async (signal) => {
      await scene.client.delete(PODS, { namespace: NAMES.namespace, name: from.pod }, { signal })
      await scene.client.create(PODS, podObject(to), { signal })
    },
    expects: [...leaves(scene, from), created(to), ...arrives(scene, to)],
  }
}

export function removeStep(scene: StoryParts, placed: Placed): StoryStep {
  return {
    title: 'Pod and claim are deleted, and the volume with them',
    act: async (signal) => {
      await scene.client.delete(PODS, { namespace: NAMES.namespace, name: placed.pod }, { signal })
      await scene.client.delete(PERSISTENT_VOLUME_CLAIMS, { namespace: NAMES.namespace, name: NAMES.claim }, { signal })
    },
    expects: [
      ...leaves(scene, placed),
      expect.deleted('claim', { who: BINDER, expected: 'claim data gone', holds: isStoryClaim }),
      ourVolume(BINDER, 'PersistentVolume Released', ({ phase }) => phase === 'Released'),
      expect.call('DeleteVolume', { who: PROVISIONER, detail: volumeOf }),
      expect.deleted('volume', { who: PROVISIONER, expected: 'PersistentVolume gone', holds: isOurs }),
    ],
  }
}

/** The last step: it creates a claim and a pod that stay, so that the user can try things. */
export function lastStep(scene: StoryParts, placed: Placed): StoryStep {
  const { client } = scene
  return {
    title: `A new claim, and pod ${placed.pod} on ${placed.node}, which stay`,
    act: async (signal) => {
      await client.create(PERSISTENT_VOLUME_CLAIMS, claimObject(FIRST_SIZE), { signal })
      await client.create(PODS, podObject(placed), { signal })
    },
    expects: [
      ourClaim(YOU, 'claim data created'),
      created(placed),
      ourClaim(BINDER, 'claim data Bound', ({ phase }) => phase === 'Bound'),
      runs(placed),
    ],
  }
}

/** The events when a volume is unmounted from a pod and detached from its node. */
function leaves(scene: StoryParts, { pod, node }: Placed): readonly Expectation[] {
  const attaches = scene.driver.capabilities.controller.has(ControllerRpc.PUBLISH_UNPUBLISH_VOLUME)
  return [
    nodeCall('NodeUnpublishVolume', node),
    ...(nodeCan(scene.driver, NodeRpc.STAGE_UNSTAGE_VOLUME) ? [nodeCall('NodeUnstageVolume', node)] : []),
    expect.deleted('pod', { who: `kubelet ${node}`, expected: `pod ${pod} gone`, holds: (each) => each.name === pod }),
    ...(attaches ? detachesFrom(scene, node) : []),
  ]
}

function detachesFrom(scene: StoryParts, node: string): readonly Expectation[] {
  const is = (each: Attachment): boolean => isOnNode(scene, each, node)
  return [
    expect.becomes('attachment', {
      who: ATTACH_DETACH,
      expected: 'VolumeAttachment deleted',
      holds: (each) => is(each) && each.deleting,
    }),
    expect.call('ControllerUnpublishVolume', {
      who: ATTACHER,
      detail: (call) => `${volumeOf(call)} from ${String(call.request['nodeId'])}`,
    }),
    expect.deleted('attachment', { who: ATTACHER, expected: 'VolumeAttachment gone', holds: is }),
  ]
}

function created({ pod }: Placed): Expectation {
  return expect.becomes('pod', { who: YOU, expected: `pod ${pod} created`, holds: (each) => each.name === pod })
}

function ourClaim(who: string, expected: string, holds: (claim: Claim) => boolean = () => true): Expectation {
  return expect.becomes('claim', { who, expected, holds: (each) => isStoryClaim(each) && holds(each) })
}

function ourVolume(who: string, expected: string, holds: (volume: Volume) => boolean): Expectation {
  return expect.becomes('volume', { who, expected, holds: (each) => isOurs(each) && holds(each) })
}

/** Expects a call from the kubelet of the node. The paths of the call contain the node's name as a folder. */
function nodeCall(method: string, node: string): Expectation {
  const fits = ({ request }: SeenCall): boolean =>
    [request['targetPath'], request['stagingTargetPath'], request['volumePath']].some((path) =>
      String(path).includes(`/${node}/`),
    )
  return expect.call(method, { who: `kubelet ${node}`, detail: volumeOf, fits })
}

/** Returns the requested name in a CreateVolume call. */
function volumeNameIn({ request }: SeenCall): string {
  return short(String(request['name']))
}

/** Returns the text about the tags in a CreateVolume call. A StorageClass of an earlier run may lack them. */
function tagsIn({ request }: SeenCall): string {
  const tags = (request['parameters'] as StorageClass['parameters'])?.['tags']
  return tags === undefined ? '' : ` with ${tags}`
}

function volumeOf({ request }: SeenCall): string {
  return short(String(request['volumeId']))
}

function isStoryClaim({ key }: Pick<Claim, 'key'>): boolean {
  return key === CLAIM
}

function isOurs({ claimRef }: Volume): boolean {
  return claimRef?.namespace === NAMES.namespace && claimRef.name === NAMES.claim
}

function isOnNode({ caches }: StoryParts, { pvName, nodeName }: Attachment, node: string): boolean {
  const pv = pvName === undefined ? undefined : caches.volumes.store.get(pvName)
  return nodeName === node && pv !== undefined && isOurs(pv)
}

function volumeNameOf({ caches }: StoryParts): string | undefined {
  const pvName = caches.claims.store.get(CLAIM)?.volumeName
  const csi = pvName === undefined ? undefined : caches.volumes.store.get(pvName)?.csi
  return csi && uniqueVolumeName(csi)
}

async function patchClaim({ client }: StoryParts, spec: object, signal: AbortSignal): Promise<void> {
  const ref = { namespace: NAMES.namespace, name: NAMES.claim }
  await client.patch(PERSISTENT_VOLUME_CLAIMS, ref, { kind: 'merge', body: { spec } }, { signal })
}
