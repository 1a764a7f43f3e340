import { deepStrictEqual as equal } from 'node:assert'
import { testsOf } from '../../harness/test.ts'
import { createTier, modifies, modify, modifying } from './modify-scene.ts'
import { eventsOf, scene, untilEvent } from './scene.ts'

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
