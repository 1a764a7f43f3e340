import { ok } from 'node:assert'
import type { WireRequest } from '../../harness/api/wire.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually } from '../../harness/waiting.ts'
import { createClass, createContent, scene, snapshotCalls, UID } from './scene.ts'

const test = testsOf('snapshotter', 'speed', { alone: true, only: 'ours', within: 120_000 })

const MANY = 100

test('one hundred snapshots are ready within seconds with default flags', async (t) => {
  await createClass(t)
  for (let index = 0; index < MANY; index += 1) {
    const volumeSnapshotRef = { namespace: 'default', name: 's', uid: `${UID}${index}` }
    await createContent(t, { what: `c${index}`, spec: { volumeSnapshotRef } })
  }
  const { driver, snapshotter } = await scene(t)
  const writes = (): readonly WireRequest[] =>
    snapshotter.gate.writes('volumesnapshotcontents', 'volumesnapshotcontents/status')
  await eventually('the last write', () => writes().filter(({ end }) => end !== undefined).length === 3 * MANY)
  const seconds = (Math.max(...writes().map(({ end = 0 }) => end)) - (writes()[0]?.time ?? 0)) / 1000
  // The machine of the tests is shared. docs/benchmarks.md has the figures of an idle machine.
  ok(seconds < 20, `${seconds} s`)
  ok(snapshotCalls(driver).length === MANY)
})
