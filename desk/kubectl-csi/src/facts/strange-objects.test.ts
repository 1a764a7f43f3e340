import { apiErrorOf } from '@csi-sidecars/kube-client'
import type { KubeObject } from '@csi-sidecars/kube-types'
import { bound, csiNode, pod, pv, pvc, storageClass, va, vac } from '@csi-sidecars/testkit'
import { describe, expect, it } from '@jest/globals'
import { ask, explain, STUCK } from '../testing/ask.ts'
import { ATTACHER_LEASE, ago, lease } from '../testing/facts.ts'
import type { SubjectKind } from './collect.ts'
import type { ReadOnlyClient } from './reader.ts'

/** Tests with objects that have null or a wrong type in a field. They must not affect findings about other objects. */

type Path = readonly (string | number)[]

const time = (seconds: number): string => ago(seconds)
const grown = bound({
  claim: {
    metadata: {
      creationTimestamp: time(900),
      deletionTimestamp: time(300),
      finalizers: ['kubernetes.io/pvc-protection', 'a.io/b'],
      annotations: { 'volume.kubernetes.io/storage-resizer': 'csi.example.com' },
    },
    spec: { resources: { requests: { storage: '2Gi' } }, volumeAttributesClassName: 'gold' },
    status: {
      allocatedResources: { storage: '2Gi' },
      allocatedResourceStatuses: { storage: 'ControllerResizeInProgress' },
      conditions: [{ type: 'Resizing', status: 'True', lastTransitionTime: time(300), message: 'x' }],
      currentVolumeAttributesClassName: 'silver',
      modifyVolumeStatus: { status: 'InProgress', targetVolumeAttributesClassName: 'gold' },
    },
  },
  volume: {
    metadata: { deletionTimestamp: time(200), finalizers: ['external-attacher/csi-example-com', 'a.io/b'] },
    spec: { persistentVolumeReclaimPolicy: 'Delete' },
    status: { phase: 'Released', message: 'no', lastPhaseTransitionTime: time(400) },
  },
})
const kindOf = (kind: string, apiVersion: string): Pick<KubeObject, 'kind' | 'apiVersion'> => ({ kind, apiVersion })

/** One object of each kind, with all fields that this command reads. */
const FULL: Readonly<Record<string, KubeObject>> = {
  persistentvolumeclaims: grown.claim,
  persistentvolumes: grown.volume,
  pods: pod('web', {
    metadata: { uid: 'uid-web', creationTimestamp: time(900), deletionTimestamp: time(300), finalizers: ['a.io/b'] },
    spec: {
      volumes: [
        { name: 'data', persistentVolumeClaim: { claimName: 'pvc-1' } },
        { name: 'scratch', ephemeral: { volumeClaimTemplate: { spec: {} } } },
      ],
    },
    status: {
      phase: 'Pending',
      conditions: [{ type: 'PodScheduled', status: 'True', lastTransitionTime: time(800), message: 'x' }],
    },
  }),
  volumeattachments: va('va-1', {
    metadata: { creationTimestamp: time(900), deletionTimestamp: time(300), finalizers: ['external-attacher/x'] },
    status: {
      attached: true,
      attachError: { message: 'a', time: time(9) },
      detachError: { message: 'd', time: time(9) },
    },
  }),
  csinodes: csiNode('node-1', {
    metadata: { annotations: { 'storage.alpha.kubernetes.io/migrated-plugins': 'x' } },
    spec: { drivers: [{ name: 'csi.example.com', nodeID: 'n', topologyKeys: ['z'], allocatable: { count: 9 } }] },
  }),
  nodes: {
    ...kindOf('Node', 'v1'),
    metadata: { name: 'node-1' },
    status: {
      conditions: [{ type: 'Ready', status: 'Unknown', lastTransitionTime: time(70), reason: 'x' }],
      volumesAttached: [{ name: 'v', devicePath: '' }],
      volumesInUse: ['v'],
    },
  } as KubeObject,
  csidrivers: {
    ...kindOf('CSIDriver', 'storage.k8s.io/v1'),
    metadata: { name: 'csi.example.com' },
    spec: { attachRequired: true },
  } as KubeObject,
  storageclasses: storageClass('sc-1', {
    metadata: { annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' } },
    volumeBindingMode: 'WaitForFirstConsumer',
  }),
  volumeattributesclasses: vac('gold'),
  leases: lease(ATTACHER_LEASE) as KubeObject,
  events: {
    ...kindOf('Event', 'v1'),
    metadata: { name: 'e', namespace: 'default' },
    involvedObject: { kind: 'PersistentVolumeClaim', namespace: 'default', name: 'pvc-1', uid: 'uid-pvc-1' },
    reason: 'VolumeResizeFailed',
    message: 'x',
    firstTimestamp: time(100),
    lastTimestamp: time(9),
    count: 4,
  } as KubeObject,
}

/** Stuck objects that the command must list even if other objects have unexpected shapes. */
const WITNESSES: Readonly<Record<string, readonly KubeObject[]>> = {
  volumeattachments: [
    va('witness', {
      metadata: { creationTimestamp: time(900) },
      spec: { attacher: 'other.example.com', nodeName: 'node-w', source: { persistentVolumeName: 'pv-w' } },
    }),
  ],
  persistentvolumes: [pv('pv-w', { spec: { csi: { driver: 'other.example.com' } } })],
  persistentvolumeclaims: [
    pvc('witness', {
      metadata: { creationTimestamp: time(900) },
      spec: { storageClassName: 'none' },
      status: { phase: 'Pending' },
    }),
  ],
  pods: [
    pod('witness', {
      metadata: { creationTimestamp: time(900) },
      spec: { nodeName: null, volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'nowhere' } }] },
      status: { phase: 'Pending' },
    }),
  ],
}

/** Returns a client that serves these objects without checking them. */
function clientOf(objects: Readonly<Record<string, readonly KubeObject[]>>): ReadOnlyClient {
  const nameOf = (object: KubeObject): string => `${object.metadata?.namespace ?? ''}/${object.metadata?.name}`
  return {
    async get(resource, { namespace = '', name }) {
      const found = (objects[resource.plural] ?? []).find((each) => nameOf(each) === `${namespace}/${name}`)
      if (found === undefined) throw apiErrorOf({ kind: 'Status', code: 404, reason: 'NotFound', message: 'not found' })
      return found as never
    },
    async *list(resource, { project }) {
      const items = (objects[resource.plural] ?? []).map((object) => project(object as never))
      yield { items: items.filter((item) => item !== undefined), resourceVersion: '1', continue: undefined } as never
    },
    discover: () => Promise.reject(new Error('no proxy')),
  }
}

/** Returns the paths of all fields and list items of an object. */
function pathsOf(value: unknown, at: Path = []): readonly Path[] {
  if (typeof value !== 'object' || value === null) return [at]
  const inner = Object.entries(value).flatMap(([key, each]) =>
    pathsOf(each, [...at, Array.isArray(value) ? Number(key) : key]),
  )
  return at.length === 0 ? inner : [at, ...inner]
}

const NAMES: ReadonlySet<string> = new Set(['metadata', 'metadata.name', 'metadata.namespace', 'kind', 'apiVersion'])

/** Returns a copy of the object with another value at the path. Undefined removes the field. */
function withValue(object: KubeObject, path: Path, value: unknown): KubeObject {
  const copy = structuredClone(object)
  let parent = copy as unknown as Record<string | number, unknown>
  for (const key of path.slice(0, -1)) parent = parent[key] as Record<string | number, unknown>
  const last = path.at(-1) ?? ''
  if (value !== undefined) parent[last] = value
  else if (Array.isArray(parent)) parent.splice(Number(last), 1)
  else delete parent[last]
  return copy
}

const SUBJECTS: Readonly<Record<string, readonly [SubjectKind, string]>> = {
  persistentvolumeclaims: ['pvc', 'pvc-1'],
  persistentvolumes: ['pv', 'pv-1'],
  pods: ['pod', 'web'],
  volumeattachments: ['va', 'va-1'],
  nodes: ['node', 'node-1'],
  csinodes: ['node', 'node-1'],
}

async function answers(plural: string, strange: KubeObject): Promise<readonly string[]> {
  const objects = Object.fromEntries(
    Object.entries(FULL).map(([each, object]) => [
      each,
      [each === plural ? strange : object, ...(WITNESSES[each] ?? [])],
    ]),
  )
  const [kind, name] = SUBJECTS[plural] ?? ['pvc', 'pvc-1']
  const client = clientOf(objects)
  const questions = [STUCK, explain(kind, name)]
  return Promise.all(questions.map(async (question) => (await ask(client, question, { json: true })).text))
}

interface Stuck {
  readonly items: readonly { readonly object: { readonly kind: string; readonly name: string } }[]
}

function witnessesIn(text: string | undefined): readonly string[] {
  const { items } = JSON.parse(text ?? '') as Stuck
  return items.flatMap(({ object }) => (object.name === 'witness' ? [object.kind] : [])).sort()
}

const CASES = Object.entries(FULL).flatMap(([plural, object]) =>
  pathsOf(object)
    .filter((path) => !NAMES.has(path.join('.')))
    .map((path) => [plural, path.join('.'), object, path] as const),
)

const STRANGE = [5, 'x', {}, [], [5], { x: 5 }, true]

describe.each(CASES)('an unexpected value in %s, field %s', (plural, _, object, path) => {
  it('`kubectl csi stuck` and `kubectl csi explain` treat a null field like a missing field', async () => {
    expect(await answers(plural, withValue(object, path, null))).toEqual(
      await answers(plural, withValue(object, path, undefined)),
    )
  })

  it.each(STRANGE)('`kubectl csi stuck` lists all other objects if a field of an object is %j', async (value) => {
    const [stuck, explained] = await answers(plural, withValue(object, path, value))
    expect(witnessesIn(stuck)).toEqual(['PersistentVolumeClaim', 'Pod', 'VolumeAttachment'])
    expect(explained).toContain('"subject"')
  })
})
