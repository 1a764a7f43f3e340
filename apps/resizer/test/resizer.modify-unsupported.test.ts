import { ControllerServiceCapability_RPC_Type as ControllerRpc } from '@csi-sidecars/csi-proto'
import { PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES } from '@csi-sidecars/kube-types'
import { expect, it } from '@jest/globals'
import { CLAIM_REF, claim, volume } from '../src/testing/builders.ts'
import { ResizerFixture } from '../src/testing/fixture.ts'
import { beginModify, wantClass } from '../src/testing/modify.ts'

const warning = (className: string): string =>
  `Warning VolumeModifyFailed: VAC "${className}" cannot be applied: CSI driver csi.example.com does not support ControllerModifyVolume.`

it('if the driver cannot modify volumes, each requested class causes one event', async () => {
  const fixture = await beginModify({ wantedClass: 'gold' }, {}, { modifies: false })
  expect(fixture.takeEvents()).toEqual([warning('gold')])
  fixture.cluster.edit(PERSISTENT_VOLUME_CLAIMS, CLAIM_REF, { metadata: { labels: { a: 'b' } } })
  await fixture.clock.advance(3_600_000)
  expect(fixture.takeEvents()).toEqual([])
  await wantClass(fixture, 'silver')
  expect(fixture.takeEvents()).toEqual([warning('silver')])
  expect(fixture.takeWire()).toEqual([])
})

it('if the driver cannot modify volumes, a claim gets an event as soon as its volume exists', async () => {
  const fixture = new ResizerFixture({ modifies: false })
  fixture.cluster.store(PERSISTENT_VOLUME_CLAIMS, claim({ wantedClass: 'gold' }))
  await fixture.start()
  expect(fixture.takeEvents()).toEqual([])
  fixture.cluster.store(PERSISTENT_VOLUMES, volume())
  await fixture.clock.settle()
  expect(fixture.takeEvents()).toEqual([warning('gold')])
})

it('a claim gets no event if its volume has the requested class already, or belongs to another driver', async () => {
  const has = await beginModify(
    { wantedClass: 'gold', status: { currentVolumeAttributesClassName: 'gold' } },
    {},
    { modifies: false },
  )
  const other = await beginModify({ wantedClass: 'gold' }, { driver: 'other.example.com' }, { modifies: false })
  const gateOff = new ResizerFixture({ modifies: false })
  gateOff.driver.controller.add(ControllerRpc.MODIFY_VOLUME)
  gateOff.cluster.store(PERSISTENT_VOLUMES, volume())
  gateOff.cluster.store(PERSISTENT_VOLUME_CLAIMS, claim({ wantedClass: 'gold' }))
  await gateOff.start()
  expect([...has.takeEvents(), ...other.takeEvents(), ...gateOff.takeEvents()]).toEqual([])
})

it('a class that the driver cannot apply counts as stuck work until the user withdraws the request', async () => {
  const fixture = await beginModify({ wantedClass: 'gold' }, {}, { modifies: false })
  const pending = () =>
    [...fixture.process.backlog.pending()].map(({ operation, reason, stuck }) => ({ operation, reason, stuck }))
  expect(pending()).toEqual([{ operation: 'modify', reason: 'ModifyNotSupported', stuck: true }])
  await wantClass(fixture, null)
  expect(pending()).toEqual([])
})
