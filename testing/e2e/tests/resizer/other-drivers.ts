import { deepStrictEqual as equal } from 'node:assert'
import { CLUSTER_ROLES } from '@csi-sidecars/kube-types'
import { FACTS } from '@csi-sidecars/sidecars/facts'
import { userWith } from '../../harness/api/user.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually, pause } from '../../harness/waiting.ts'
import { createTier, modified, modifies, modify, modifying } from './modify-scene.ts'
import { bound, eventsOf, scene, untilEvent } from './scene.ts'

const test = testsOf('resizer', 'other drivers', { only: 'ours' })

test('a class of another driver is applied, and one event and one line name both drivers', async (t) => {
  const gold = await createTier(t, 'foreign', 'other.example.com')
  const at = await modifying(t, { args: ['--retry-interval-start=200ms', '--retry-interval-max=1s'] })
  at.driver.on('ControllerModifyVolume', (_, nth) => (nth < 2 ? { code: 13, message: 'no' } : { reply: {} }))
  await modify(t, 'foreign')
  await untilEvent(t, 'VolumeModifySuccessful')
  equal(modifies(at).length, 3)
  const warnings = (await eventsOf(t)).filter((text) => text.includes('VolumeModifyDriverMismatch'))
  equal(warnings, [
    `Warning VolumeModifyDriverMismatch VAC "${gold}" is for driver other.example.com, and its parameters are applied to a volume of driver ${t.driverName}`,
  ])
  const lines = at.resizer.linesWith('VolumeAttributesClass is for another driver')
  equal(lines.length, 1)
  for (const name of ['other.example.com', t.driverName, gold]) equal(lines[0]?.includes(name), true)
})

test('a driver that restarts without one capability and with another: the line names their sidecars', async (t) => {
  const at = await scene(t)
  at.driver.kill()
  await at.resizer.line('Lost connection')
  at.driver.capabilities.controller.splice(0, 1, 'MODIFY_VOLUME')
  at.driver.capabilities.node.push('EXPAND_VOLUME')
  await at.driver.start()
  const line = await at.resizer.line('CSI driver has changed')
  for (const text of ['without the controller capability EXPAND_VOLUME', 'with the node capability EXPAND_VOLUME']) {
    equal(line.includes(text), true, line)
  }
})

test('forbidden classes are read more and more rarely, and at once for the next claim of the driver', async (t) => {
  const rules = FACTS.resizer.rules.filter(({ resources }) => !resources?.includes('volumeattributesclasses'))
  const user = await userWith(t, rules)
  const driver = await t.driver({ controller: ['EXPAND_VOLUME', 'MODIFY_VOLUME'] })
  const claim = { volumeAttributesClassName: await createTier(t, 'gold') }
  const at = await scene(t, { user, driver, watches: ['persistentvolumeclaims'] })
  const tries = (): number =>
    at.resizer.gate.requestsOf('volumeattributesclasses').filter(({ query }) => query['limit'] === '1').length
  await bound(t, { claim })
  await eventually('a try', () => tries() > 0)
  const ofOther = { csi: { driver: 'other.example.com', volumeHandle: 'other' } }
  for (const nth of [1, 2, 3, 4, 5, 6]) {
    await bound(t, { suffix: `-other-${nth}`, claim, pv: ofOther })
    await pause(1800)
  }
  const rarely = tries()
  equal(rarely <= 7, true, `${rarely} tries in 12 s`)
  await bound(t, { suffix: '-next', claim })
  await eventually('another try', () => tries() > rarely, { within: 3000 })
  await t.api.merge(CLUSTER_ROLES, { name: t.name('role') }, { rules: FACTS.resizer.rules })
  await bound(t, { suffix: '-last', claim })
  await modified(t, t.name('gold'))
})
