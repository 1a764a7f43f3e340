import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '@csi-sidecars/base'
import { FakeClock } from '@csi-sidecars/base/testing'
import type { ProxiedCall } from '@csi-sidecars/disturb'
import { answered, created } from '@csi-sidecars/disturb/testing/proxied-calls'
import { startCsiDriver } from '@csi-sidecars/emulator'
import { silentLogger } from '@csi-sidecars/telemetry'
import { openDriver } from '@csi-sidecars/volume-controllers'
import { expect, it } from '@jest/globals'
import { Checker } from '../checks/checker.ts'
import { ClusterRules } from './cluster-rules.ts'
import { DriverUnderTest } from './driver-under-test.ts'
import { OwnNodes } from './nodes.ts'

const { signal } = new AbortController()

interface Seen {
  /** The mounts that each check finds, in order. The last entry applies to all further checks. */
  readonly looks?: readonly (readonly string[])[]
  /** The time after which a created volume is deleted. Undefined: no volume was created. */
  readonly deletedAfterMs?: number
}

/** Returns the remaining volumes and mounts of a driver that cannot list volumes. */
async function left({ looks = [], deletedAfterMs }: Seen): Promise<readonly string[]> {
  await using stack = new AsyncDisposableStack()
  const directory = await mkdtemp(join(tmpdir(), 'left-'))
  stack.defer(() => rm(directory, { recursive: true, force: true }))
  const clock = systemClock
  const emulated = await startCsiDriver({
    socket: join(directory, 'csi.sock'),
    controller: ['CREATE_DELETE_VOLUME'],
    clock,
  })
  stack.use(emulated)
  const { address } = emulated
  const direct = await openDriver({ address, clock, log: silentLogger, signal, services: 'controller' })
  stack.defer(() => direct.close())
  const nodes = new OwnNodes([], directory)
  const checker = new Checker({ startedAt: clock.monotonic(), shortened: (path) => path })
  const waiting = [...looks]
  const mountsBelow = async () => (waiting.length > 1 ? waiting.shift() : waiting[0]) ?? []
  const rules = new ClusterRules(checker.tracker, nodes, false)
  const none = { inlineAttributes: {}, ownProcess: undefined }
  const time = new FakeClock()
  const see = (calls: readonly ProxiedCall[]): void => {
    for (const call of calls) checker.see(call)
  }
  if (deletedAfterMs !== undefined) {
    see(created('pvc', 'vol', 1n))
    time.schedule(deletedAfterMs, () => see(answered('DeleteVolume', { volumeId: 'vol' })))
  }
  const driver = new DriverUnderTest({ ...none, direct, nodes, mountsBelow, checker, rules, clock: time })
  const [found] = await Promise.all([driver.left(signal), time.advance(60_000)])
  return found
}

it('a mount that disappears shortly after the deletion of its volume is not reported', async () => {
  expect(await left({ looks: [['/n/globalmount'], []] })).toEqual([])
})

it('a mount that never disappears is reported as left over', async () => {
  expect(await left({ looks: [['/n/globalmount']] })).toEqual(['/n/globalmount is still mounted'])
})

it('a volume that the provisioner deletes only after a retry is not reported', async () => {
  expect(await left({ deletedAfterMs: 12_000 })).toEqual([])
})

it('a volume that is not deleted in time is reported', async () => {
  expect(await left({ deletedAfterMs: 59_000 })).toEqual(['volume vol was created and never deleted'])
})
