import type { Print } from '../cluster/up.ts'
import { apply, kubectl, remove } from '../deploy/kubectl.ts'
import { ATTRIBUTES_CLASS } from '../deploy/manifests.ts'
import { claim, namespace, pod, snapshot } from '../deploy/workloads.ts'
import type { NodeRecord } from '../machine/record.ts'
import { volumeObjects, volumesEnded } from './pods.ts'
import { expectThat, RunSteps } from './report.ts'

const NAMESPACE = 'life'

/** Runs the life of a volume, from its claim to its deletion, and checks that nothing remains. Returns its seconds. */
export async function life(node: NodeRecord, print: Print): Promise<number> {
  const steps = new RunSteps(print)
  const inNamespace = (...args: readonly string[]): string => kubectl(node, '-n', NAMESPACE, ...args)
  const wait = (condition: string, ...objects: readonly string[]): string =>
    inNamespace('wait', `--for=${condition}`, '--timeout=180s', ...objects)
  const patch = (spec: object): string =>
    inNamespace('patch', 'pvc', 'one', '--type=merge', '-p', JSON.stringify({ spec }))
  remove(node, 'namespace', NAMESPACE)
  const before = volumeObjects(node)
  apply(node, [
    namespace(NAMESPACE),
    claim(NAMESPACE, { name: 'one', storage: '1Gi' }),
    pod(NAMESPACE, { name: 'one', script: 'echo hello > /data/file; sync' }),
  ])
  wait('condition=Ready', 'pod/one')
  steps.done('the claim is bound, the volume attached, the pod runs')
  patch({ resources: { requests: { storage: '2Gi' } } })
  wait('jsonpath={.status.capacity.storage}=2Gi', 'pvc/one')
  steps.done('the volume is expanded, below the running pod')
  patch({ volumeAttributesClassName: ATTRIBUTES_CLASS })
  wait(`jsonpath={.status.currentVolumeAttributesClassName}=${ATTRIBUTES_CLASS}`, 'pvc/one')
  steps.done('its class is changed')
  apply(node, [snapshot(NAMESPACE, 'one')])
  wait('jsonpath={.status.readyToUse}=true', 'volumesnapshot/one')
  steps.done('its snapshot is ready')
  const fromSnapshot = { apiGroup: 'snapshot.storage.k8s.io', kind: 'VolumeSnapshot', name: 'one' }
  const fromClaim = { kind: 'PersistentVolumeClaim', name: 'one' }
  for (const [name, dataSource] of [
    ['restored', fromSnapshot],
    ['clone', fromClaim],
  ] as const) {
    apply(node, [claim(NAMESPACE, { name, storage: '2Gi', dataSource }), pod(NAMESPACE, { name, script: 'true' })])
  }
  wait('condition=Ready', 'pod/restored', 'pod/clone')
  for (const name of ['restored', 'clone']) {
    const content = inNamespace('exec', name, '--', 'cat', '/data/file')
    expectThat(content === 'hello\n', `the volume ${name} has the content ${JSON.stringify(content)}`)
  }
  steps.done('a volume of the snapshot and a clone have its content')
  remove(node, '-n', NAMESPACE, 'pod', '--all')
  remove(node, '-n', NAMESPACE, 'volumesnapshot,pvc', '--all')
  await volumesEnded(node, before)
  remove(node, 'namespace', NAMESPACE)
  steps.done('nothing is left')
  return steps.seconds
}
