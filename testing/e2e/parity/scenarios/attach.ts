import { CSI_DRIVERS, NODES, PODS } from '@csi-sidecars/kube-types'
import {
  attachmentsDeleted,
  changed,
  claim,
  csiDriver,
  deleted,
  ENDED,
  gone,
  inUse,
  node,
  phase,
  pod,
  RUNNING,
  readiness,
  reported,
  type Scenario,
  type Steps,
  scenario,
  type VolumeOptions,
  volume,
} from '../scenario.ts'

const OUT_OF_SERVICE = { key: 'node.kubernetes.io/out-of-service', value: 'nodeshutdown', effect: 'NoExecute' }
const app = (suffix = 'app', on = 'n1') => pod(suffix, { node: on, claims: ['data'] })

/** Builds a scenario that starts with two nodes and a claim that is bound to a volume with these options. */
function attachOf(options: VolumeOptions, name: string, ...steps: Steps): Scenario {
  const modes = options.modes === undefined ? {} : { modes: options.modes }
  return scenario(`attach: ${name}`, [node('n1'), node('n2'), volume('pv', options), claim('data', modes)], ...steps)
}

const attach = (name: string, ...steps: Steps): Scenario => attachOf({}, name, ...steps)

/** The time limit of slow conditions, such as an attach that times out after 2 minutes. */
const MINUTES = 240_000

function long(one: Scenario): Scenario {
  return { ...one, long: true, round: 4 }
}

/** Scenarios for the attach/detach controller: pods, nodes and attachments. */
export const attachScenarios: readonly Scenario[] = [
  attach('a pod is created and deleted', [app()], [deleted(PODS, 'app')]),
  attach(
    'the volume is detached only after the kubelet has released it',
    [app()],
    [inUse('n1', 'pv')],
    [deleted(PODS, 'app')],
    [inUse('n1')],
  ),
  scenario('attach: the pod comes before its volume is bound', [node('n1'), volume('pv')], [app()], [claim('data')]),
  attach('two pods on a node share it', [app()], [app('second')], [deleted(PODS, 'app')], [deleted(PODS, 'second')]),
  attach(
    'the volume is in use on another node',
    [app(), inUse('n1', 'pv')],
    [app('second', 'n2')],
    [deleted(PODS, 'app'), inUse('n1')],
  ),
  attach(
    'three pods use the volume on another node',
    [app()],
    [app('second'), app('third'), inUse('n1', 'pv')],
    [app('fourth', 'n2')],
  ),
  attachOf(
    { csi: null, awsElasticBlockStore: { volumeID: 'aws://eu-west-1a/vol-7', fsType: 'ext4' } },
    'the in-tree plugin of the volume is migrated',
    [app()],
    [deleted(PODS, 'app')],
  ),
  attach('the pod moves to another node', [app()], [deleted(PODS, 'app')], [app('second', 'n2')]),
  attach(
    'the pod moves to another node while the old node uses the volume',
    [app(), inUse('n1', 'pv')],
    [deleted(PODS, 'app'), app('second', 'n2')],
    [inUse('n1')],
  ),
  attachOf(
    { modes: ['ReadWriteMany'] },
    'many nodes may have it',
    [app(), app('second', 'n2')],
    [deleted(PODS, 'app')],
  ),
  attachOf({ handle: 'refused' }, 'the driver refuses', [app()]),
  attachOf({ handle: 'slow' }, 'an attach that does not end', [app()]),
  long(
    attachOf({ handle: 'slow' }, 'an attach that has not ended after two minutes', {
      actions: [app()],
      until: ({ events }) => [...events].some((text) => text.includes('timed out waiting for external-attacher')),
      timeLimitMs: MINUTES,
    }),
  ),
  attachOf({ handle: 'refused' }, 'the driver refuses, and the pod is deleted', [app()], {
    // The controller assumes that the volume is mounted until the kubelet reports.
    actions: [deleted(PODS, 'app'), changed(NODES, 'n1', { metadata: { annotations: { heard: 'yes' } } })],
    until: gone('VolumeAttachment'),
  }),
  attachOf({ handle: 'stuck' }, 'a detach that does not end', [app()], [deleted(PODS, 'app')], [app('second', 'n2')]),
  attach('a pod that has succeeded', [app()], [phase('app', 'Succeeded', ENDED)]),
  attach('a pod that has failed', [app()], [phase('app', 'Failed', ENDED)]),
  attach(
    'a pod that is being deleted and runs on',
    [pod('app', { node: 'n1', claims: ['data'], withFinalizer: true }), phase('app', 'Running', RUNNING)],
    [deleted(PODS, 'app')],
    [phase('app', 'Running', ENDED)],
  ),
  attach(
    'a node that keeps the volumes of pods that have ended',
    [
      changed(NODES, 'n1', {
        metadata: { annotations: { 'volumes.kubernetes.io/keep-terminated-pod-volumes': 'true' } },
      }),
      app(),
    ],
    [phase('app', 'Succeeded', ENDED)],
  ),
  attach('a pod that is not scheduled', [pod('app', { claims: ['data'] })]),
  attach(
    'the node is out of service',
    [app(), inUse('n1', 'pv')],
    [reported(NODES, 'n1', readiness(false)), deleted(PODS, 'app')],
    [changed(NODES, 'n1', { spec: { taints: [OUT_OF_SERVICE] } })],
  ),
  attach(
    'the node is out of service, the pod is still there',
    [app(), inUse('n1', 'pv')],
    [changed(NODES, 'n1', { spec: { taints: [OUT_OF_SERVICE] } })],
  ),
  attach(
    'the node does not answer and says that it uses it',
    [app(), inUse('n1', 'pv')],
    [reported(NODES, 'n1', readiness(false)), deleted(PODS, 'app'), app('second', 'n2')],
  ),
  attach('the node is deleted', [app()], [deleted(NODES, 'n1')], [deleted(PODS, 'app')]),
  attach(
    'the node is deleted while it uses the volume',
    [app(), inUse('n1', 'pv')],
    [deleted(NODES, 'n1'), deleted(PODS, 'app')],
  ),
  attach('the node is recreated', [app(), inUse('n1', 'pv')], [deleted(NODES, 'n1')], [node('n1')]),
  scenario(
    'attach: the kubelet of the node attaches its volumes itself',
    [node('n1', { annotations: {} }), volume('pv'), claim('data')],
    [app()],
  ),
  long(
    scenario(
      'attach: the kubelet attaches volumes itself, and later the controller does',
      [node('n1', { annotations: {} }), volume('pv'), claim('data')],
      [app()],
      {
        actions: [
          changed(NODES, 'n1', {
            metadata: { annotations: { 'volumes.kubernetes.io/controller-managed-attach-detach': 'true' } },
          }),
        ],
        until: ({ objects }) => [...objects.keys()].some((name) => name.startsWith('VolumeAttachment ')),
        timeLimitMs: MINUTES,
      },
    ),
  ),
  attach('another client deletes the attachment of a pod that exists', [app()], [attachmentsDeleted('pv')]),
  attach(
    'another client deletes the attachment of a pod that is deleted',
    [app(), inUse('n1', 'pv')],
    [deleted(PODS, 'app')],
    [attachmentsDeleted('pv')],
  ),
  attach('another client empties the status of the node', [app()], [reported(NODES, 'n1', { volumesAttached: null })]),
  scenario(
    'attach: the CSIDriver needs no attachments',
    [node('n1'), csiDriver('driver', { attachRequired: false }), volume('pv', { driver: 'driver' }), claim('data')],
    [app()],
  ),
  scenario(
    'attach: the driver has no CSIDriver object',
    [node('n1'), volume('pv', { driver: 'driver' }), claim('data')],
    [app()],
  ),
  long(
    scenario(
      'attach: the CSIDriver no longer needs attachments',
      [node('n1'), csiDriver('driver', { attachRequired: true }), volume('pv', { driver: 'driver' }), claim('data')],
      [app()],
      {
        actions: [deleted(CSI_DRIVERS, 'driver'), csiDriver('driver', { attachRequired: false })],
        until: gone('VolumeAttachment'),
        timeLimitMs: MINUTES,
      },
      [deleted(PODS, 'app')],
    ),
  ),
  attachOf({ csi: null, nfs: { server: 'nfs.example.com', path: '/' } }, 'a volume without CSI', [app()]),
  scenario('attach: the pod has an inline CSI volume', [
    node('n1'),
    (scene) => pod('app', { node: 'n1', volumes: [{ name: 'own', csi: { driver: scene.driver } }] })(scene),
  ]),
]
