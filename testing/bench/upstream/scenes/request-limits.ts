import { CSI_NODES, PERSISTENT_VOLUMES, VOLUME_ATTACHMENTS, type VolumeAttachment } from '@csi-sidecars/kube-types'
import { seats } from '../../../e2e/harness/api/gate.ts'
import { limitUser } from '../../../e2e/harness/api/priority-level.ts'
import { pause } from '../../../e2e/harness/waiting.ts'
import type { Ground } from '../ground.ts'
import { attach, nodeOf, nodes, volumes } from '../objects.ts'
import { type Bench, type BenchScene, interleaved } from '../scene.ts'
import type { Side } from '../side.ts'
import type { Subject } from '../subject.ts'
import { warmUp } from '../work.ts'
import { PER_OBJECT_MS } from './storm.ts'

const SEATS = [1, 3, 10]
const SEAT_MS = 10
const FLAGS = ['--kube-api-qps=100', '--kube-api-burst=200']
/** The server takes a new level into use. */
const LEVEL_MS = 2000

export const requestLimits: BenchScene = {
  name: 'request-limits',
  title: 'API servers that limit requests',
  conditions:
    `The original with ${FLAGS.join(' ')}; ours without flags, and in lines of their own with these two. Seats: a ` +
    `proxy lets so many requests of ${SEAT_MS} ms pass at a time, but for leases and watches, and refuses the rest with ` +
    'Retry-After: 1; 100 attachments. Priority level: one of one share that rejects, for all that the sidecar asks of ' +
    'the real server; 200 attachments. Refused: 429s for each other answer.',
  async run(bench) {
    await using ground = await bench.ground()
    await interleaved(bench, async (side, round) => {
      for (const count of SEATS) await limited(bench, ground, { side, round, seats: count, label: `${count} seats` })
      await limited(bench, ground, { side, round, label: 'priority level' })
      if (side === 'original') return
      const flags = { side, round, args: FLAGS }
      for (const count of SEATS) {
        await limited(bench, ground, { ...flags, seats: count, label: `${count} seats, ours with the flags` })
      }
    })
  },
}

interface Limited {
  readonly side: Side
  readonly round: number
  readonly label: string
  /** Undefined for the priority level. */
  readonly seats?: number
  readonly args?: readonly string[]
}

async function limited(bench: Bench, ground: Ground, how: Limited): Promise<void> {
  const { side, round, label, seats: count, args = side === 'original' ? FLAGS : [] } = how
  const name = `${side}-${round}-${label.replaceAll(/\W+/gu, '-')}`
  const driver = await ground.driver(`${name}.limits.example.com`)
  const attachments = bench.sized(count === undefined ? 200 : 100)
  await nodes(ground, driver.name)
  await volumes(ground, driver.name, { count: attachments, prefix: name })
  const gate = count === undefined ? undefined : await ground.gate()
  const subject = await ground.start({ side, app: 'attacher', driver, args, ...(gate && { server: gate.url }) })
  await warmUp(ground, subject)
  if (count !== undefined) gate?.rules.push(seats(count, SEAT_MS))
  const undo = count === undefined ? await limitUser(ground.api, { name, user: subject.userName }) : undefined
  await pause(LEVEL_MS)
  using seen = await ground.observe(VOLUME_ATTACHMENTS)
  const isAttached = ({ spec, status }: VolumeAttachment): boolean =>
    spec.attacher === driver.name && status?.attached === true
  const [from, started] = [Date.now(), performance.now()]
  await ground.each(attachments, (index) =>
    attach(ground, driver.name, { name: `${name}-${index}`, node: nodeOf(driver.name) }),
  )
  const within = 60_000 + attachments * PER_OBJECT_MS
  await seen.until('are attached', isAttached, { count: attachments, within })
  const seconds = (performance.now() - started) / 1000
  const codes = gate === undefined ? await codesOf(subject, from) : gate.requests.filter(({ time }) => time >= from)
  const refused = codes.filter(({ code }) => code === 429).length
  bench.figures.note('attacher', side, {
    [`${label}: attached (s)`]: seconds,
    [`${label}: refused for each answer`]: refused / (codes.length - refused),
  })
  await subject.kill()
  await undo?.()
  await ground.clear(VOLUME_ATTACHMENTS, PERSISTENT_VOLUMES, CSI_NODES)
}

async function codesOf(subject: Subject, from: number): Promise<readonly { readonly code: number }[]> {
  return (await subject.requests()).filter(({ time }) => time >= from)
}
