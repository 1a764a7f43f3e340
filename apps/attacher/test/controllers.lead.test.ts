import { CODES, RpcError } from '@csi-sidecars/csi'
import { VOLUME_ATTACHMENTS } from '@csi-sidecars/kube-types'
import { describe, expect, it } from '@jest/globals'
import { AttacherScenario } from '../src/testing/model/scenario.ts'

const PUBLISH = 'call publish vol-own n1-id'
const STATUS = 'patch volumeattachments/own.n1/status'

describe('stop', () => {
  it('a stopped attacher lets a running attach end, stores its result, and starts no other run', async () => {
    const scenario = await AttacherScenario.begin()
    await scenario.addFinalizers('own')
    scenario.createAttachment('shared', 'n1', false)
    scenario.running.stop()
    await scenario.deliver()
    expect(scenario.inFlight).toEqual([PUBLISH])
    await scenario.answer(PUBLISH)
    await scenario.answer(STATUS)
    await scenario.running.ended
    expect(scenario.statusOf('own')?.attached).toBe(true)
    expect(scenario.running.log.lines.filter(({ level }) => level === 0).map(({ message }) => message)).toEqual([
      'Starting CSI attacher',
      'Shutting CSI attacher',
    ])
    expect(scenario.clock.pending).toBe(0)
  })

  it('an attacher that is stopped before its caches are filled starts no controllers', async () => {
    const scenario = new AttacherScenario()
    scenario.start()
    const { running } = scenario
    running.stop()
    await running.ended
    expect(running.log.lines).toEqual([])
  })

  it('a stopped attacher drops pending back-offs and listings', async () => {
    const scenario = await AttacherScenario.begin({ lists: true })
    await scenario.addFinalizers('own')
    await scenario.answer(PUBLISH, new RpcError(CODES.Internal, 'no'))
    await scenario.answer(STATUS)
    await scenario.answer('call list')
    scenario.running.stop()
    await scenario.running.ended
    expect(scenario.clock.pending).toBe(0)
  })
})

describe('lost lease', () => {
  it('the attacher cancels a running call when it loses the lease, and writes nothing', async () => {
    const scenario = await AttacherScenario.begin()
    await scenario.addFinalizers('own')
    const { running } = scenario
    const patches = scenario.api.writes.length
    running.depose()
    await running.ended
    expect(running.gate.inFlight).toEqual([])
    expect(scenario.api.writes).toHaveLength(patches)
    expect(scenario.statusOf('own')).toEqual({ attached: false })
  })
})

describe('concurrent calls', () => {
  it('a publish of a single-node volume waits for the publish on another node, but a detach starts at once', async () => {
    const scenario = await AttacherScenario.begin()
    await scenario.addFinalizers('own', 'n1')
    await scenario.create('own', 'n2')
    expect(scenario.inFlight).toEqual([PUBLISH])
    await scenario.answer(PUBLISH)
    await scenario.answer(STATUS)
    await scenario.answer('patch volumeattachments/own.n2')
    await scenario.remove('own', 'n1')
    expect(scenario.inFlight).toEqual(['call publish vol-own n2-id', 'call unpublish vol-own n1-id'])
  })

  it('the attacher publishes a volume only after a running detach of the volume has ended', async () => {
    const scenario = await AttacherScenario.begin({ settings: { workers: 1 } })
    await scenario.answerAtOnce()
    await scenario.create('own', 'n1')
    scenario.kill()
    scenario.createAttachment('own', 'n2', false)
    scenario.api.delete(VOLUME_ATTACHMENTS, { name: 'own.n1' })
    scenario.start()
    await scenario.settle()
    await scenario.deliver()
    expect(scenario.inFlight).toEqual(['call unpublish vol-own n1-id'])
    await scenario.answerAtOnce()
    expect(scenario.callLog.slice(1)).toEqual(['unpublish vol-own n1-id', 'publish vol-own n2-id'])
  })

  it('the attacher publishes a multi-node volume on several nodes at the same time', async () => {
    const scenario = await AttacherScenario.begin()
    await scenario.addFinalizers('shared', 'n1')
    await scenario.create('shared', 'n2')
    await scenario.answer('patch volumeattachments/shared.n2')
    expect(scenario.inFlight).toEqual(['call publish vol-shared n1-id', 'call publish vol-shared n2-id'])
  })

  it('the attacher runs at most `--max-inflight-per-node` attaches and detaches for one node', async () => {
    const scenario = await AttacherScenario.begin({ settings: { maxInflightPerNode: 1 } })
    await scenario.addFinalizers('own', 'n1')
    await scenario.create('shared', 'n1')
    await scenario.create('shared', 'n2')
    expect(scenario.inFlight).toEqual([PUBLISH, 'patch persistentvolumes/shared'])
  })

  it('the attacher starts an attach although detaches occupy all workers', async () => {
    const scenario = await AttacherScenario.begin()
    const names = Array.from({ length: 20 }, (_, index) => `a${index}`)
    for (const name of [...names, 'late']) scenario.createVolume(name)
    for (const name of names) scenario.createAttachment(name, 'n1', false)
    scenario.running.gate.open()
    for (let turn = 0; turn < 4; turn += 1) await scenario.deliver()
    for (const name of names) expect(scenario.statusOf(name)?.attached).toBe(true)
    scenario.kill()
    for (const name of names) scenario.api.delete(VOLUME_ATTACHMENTS, { name: `${name}.n1` })
    scenario.start()
    await scenario.settle()
    expect(scenario.inFlight.map((label) => label.split(' ')[1])).toEqual(Array(4).fill('unpublish'))
    await scenario.create('late')
    expect(scenario.inFlight.at(-1)).toBe('patch persistentvolumes/late')
    expect(scenario.inFlight).toHaveLength(5)
  })
})

describe('start', () => {
  it('a started attacher processes a new attachment before it retries the failed attachments of the last leader', async () => {
    const scenario = new AttacherScenario({ lists: false })
    const bad = Array.from({ length: 60 }, (_, index) => `bad-${index}`)
    scenario.createNode('n1', true)
    for (const name of [...bad, 'new']) scenario.createVolume(name)
    for (const name of bad) {
      scenario.createAttachment(name, 'n1', false)
      const status = { attachError: { message: 'no such array' } }
      scenario.api.edit(VOLUME_ATTACHMENTS, { name: `${name}.n1` }, { status })
    }
    scenario.start()
    await scenario.deliver()
    const retries = scenario.inFlight.length
    expect([retries > 0, retries < bad.length]).toEqual([true, true])
    await scenario.create('new')
    expect(scenario.inFlight.slice(retries)).toEqual(['patch persistentvolumes/new'])
  })
})

describe('ListVolumes', () => {
  it('the attacher publishes an attached volume again if two listings of the driver lack it', async () => {
    const scenario = await AttacherScenario.begin({ lists: true })
    await scenario.answer('call list')
    await scenario.answerAtOnce()
    await scenario.create('own')
    scenario.forget('own', 'n1')
    await scenario.clock.advance(119_000)
    expect(scenario.callLog).toEqual(['publish vol-own n1-id'])
    await scenario.clock.advance(1_000)
    expect(scenario.callLog).toEqual(['publish vol-own n1-id', 'publish vol-own n1-id'])
    expect(scenario.takePatches()).toHaveLength(3)
  })

  it('the attacher does not publish a volume again if its publish runs during the listing', async () => {
    const scenario = await AttacherScenario.begin({ lists: true, settings: { confirmations: 1 } })
    await scenario.answer('call list')
    await scenario.addFinalizers('own')
    await scenario.apply(PUBLISH)
    await scenario.clock.advance(60_000)
    await scenario.answer('call list')
    await scenario.answerAtOnce()
    expect(scenario.callLog).toEqual(['publish vol-own n1-id'])
  })

  it('the attacher does not call ListVolumes if the driver cannot list published nodes', async () => {
    const scenario = await AttacherScenario.begin()
    await scenario.clock.advance(600_000)
    expect(scenario.inFlight).toEqual([])
  })
})
