import { deepStrictEqual as equal } from 'node:assert'
import { PERSISTENT_VOLUME_CLAIMS } from '@csi-sidecars/kube-types'
import { createdVolume } from '../../harness/driver/driver.ts'
import { testsOf } from '../../harness/test.ts'
import {
  calls,
  claimEvent,
  claimRef,
  createClaim,
  provision,
  provisionedVolume,
  scene,
} from '../../rows/provisioner/scene.ts'

const test = testsOf('provisioner', 'parameter templates', { only: 'ours' })

const ARGS = ['--parameter-templates']
const TEAM = 'example.com/team'
const optional = `team=\${pvc.annotations['${TEAM}']|max(8):-none}`
const required = `\${pvc.annotations['${TEAM}']:?set the annotation ${TEAM}}`

test('CreateVolume gets names and annotations of the claim in place of the variables of the class', async (t) => {
  const parameters = { type: 'ssd', tag: optional, of: `\${pvc.namespace}.\${pvc.name}`, volume: `\${pv.name}` }
  const { driver } = await scene(t, { args: ARGS, class: { parameters } })
  const pv = await provision(t, { annotations: { [TEAM]: 'storage-and-more' } })
  const { namespace, name } = claimRef(t)
  equal(driver.fieldsOf('CreateVolume', 'parameters'), [
    { type: 'ssd', tag: 'team=storage-', of: `${namespace}.${name}`, volume: pv.metadata?.name },
  ])
})

test('a claim without a required annotation gets an event and no volume until it has the annotation', async (t) => {
  const { driver } = await scene(t, { args: ARGS, class: { parameters: { tag: required } } })
  const uid = await createClaim(t)
  await claimEvent(t, `set the annotation ${TEAM}`)
  equal(driver.callsOf('CreateVolume'), [])
  await t.api.merge(PERSISTENT_VOLUME_CLAIMS, claimRef(t), { metadata: { annotations: { [TEAM]: 'storage' } } })
  await provisionedVolume(t, uid)
  equal(driver.fieldsOf('CreateVolume', 'parameters'), [{ tag: 'storage' }])
})

test('a repeated CreateVolume call of a killed provisioner has the earlier value of a changed annotation', async (t) => {
  const { driver, sidecar } = await scene(t, {
    args: ARGS,
    class: { parameters: { tag: optional } },
    prepare: (each) =>
      each.on('CreateVolume', (call, nth) => (nth === 0 ? 'hang' : { reply: { volume: createdVolume(call.request) } })),
  })
  const uid = await createClaim(t, { annotations: { [TEAM]: 'first' } })
  await calls(driver, 'CreateVolume')
  await sidecar.endBy('SIGKILL')
  await t.api.merge(PERSISTENT_VOLUME_CLAIMS, claimRef(t), { metadata: { annotations: { [TEAM]: 'second' } } })
  await t.sidecar({ driver, args: ARGS })
  await provisionedVolume(t, uid)
  equal(driver.fieldsOf('CreateVolume', 'parameters'), [{ tag: 'team=first' }, { tag: 'team=first' }])
})

test('without --parameter-templates the driver gets the text of the class', async (t) => {
  const { driver } = await scene(t, { class: { parameters: { tag: optional } } })
  await provision(t, { annotations: { [TEAM]: 'storage' } })
  equal(driver.fieldsOf('CreateVolume', 'parameters'), [{ tag: optional }])
})
