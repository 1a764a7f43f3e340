import type { Print } from '../cluster/up.ts'
import { ATTRIBUTES_CLASS } from '../deploy/manifests.ts'
import type { NodeRecord } from '../machine/record.ts'
import { expectThat, RunSteps } from './report.ts'
import { Workspace } from './workspace.ts'

/** Runs the life of a volume, from its claim to its deletion, and checks that nothing remains. Returns its seconds. */
export async function life(node: NodeRecord, print: Print): Promise<number> {
  const steps = new RunSteps(print)
  const space = new Workspace(node, 'life')
  space.open()
  space.start({ name: 'one', script: 'echo hello > /data/file; sync' })
  steps.done('the claim is bound, the volume attached, the pod runs')
  space.changeClaim('one', { resources: { requests: { storage: '2Gi' } } }, ['capacity.storage', '2Gi'])
  steps.done('the volume is expanded, below the running pod')
  const classChange = { volumeAttributesClassName: ATTRIBUTES_CLASS }
  space.changeClaim('one', classChange, ['currentVolumeAttributesClassName', ATTRIBUTES_CLASS])
  steps.done('its class is changed')
  space.snapshot('one')
  steps.done('its snapshot is ready')
  const snapshot = { apiGroup: 'snapshot.storage.k8s.io', kind: 'VolumeSnapshot', name: 'one' }
  const claim = { kind: 'PersistentVolumeClaim', name: 'one' }
  space.start(
    { name: 'restored', storage: '2Gi', dataSource: snapshot, script: 'true' },
    { name: 'clone', storage: '2Gi', dataSource: claim, script: 'true' },
  )
  for (const name of ['restored', 'clone']) {
    const content = space.read(name, '/data/file')
    expectThat(content === 'hello\n', `the volume ${name} has the content ${JSON.stringify(content)}`)
  }
  steps.done('a volume of the snapshot and a clone have its content')
  space.remove('pod', '--all')
  space.remove('volumesnapshot,pvc', '--all')
  await space.close()
  steps.done('nothing is left')
  return steps.seconds
}
