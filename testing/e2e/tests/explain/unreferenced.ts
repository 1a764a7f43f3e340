import { deepStrictEqual as equal, match } from 'node:assert'
import { freePort } from '@csi-sidecars/emulator'
import { testsOf } from '../../harness/test.ts'
import { eventually } from '../../harness/waiting.ts'
import { GI, scene } from '../../rows/provisioner/scene.ts'
import { listedVolume } from '../provisioner/unreferenced.ts'
import { type Asking, asking, type Explanation, onlyReads, PROXY_READER } from './ask.ts'
import { createLeader, ofThisMachine } from './leader.ts'

// The API server must be real, because the emulator has no pods/proxy. The command asks the leaders of all tests.
const ALONE = { only: 'ours', target: 'real', alone: 'cluster' } as const
const test = testsOf('provisioner', 'explain', ALONE)

test('kubectl csi unreferenced lists the volumes of the leader, with an exit code for scripts', async (t) => {
  const [name, port] = [t.name('pod'), await freePort()]
  const endpoint = `--http-endpoint=:${port}`
  await createLeader(t, 'provisioner', { name, args: [endpoint], status: ofThisMachine() })
  const listed = Promise.withResolvers<void>()
  const entries = [listedVolume('forgotten')]
  const { driver } = await scene(t, {
    hostname: name,
    args: ['--leader-election', '--leader-election-namespace=default', endpoint, '--unreferenced-check-interval=100ms'],
    controller: ['LIST_VOLUMES'],
    prepare: (each) => each.on('ListVolumes', { reply: { entries, nextToken: '' }, after: listed.promise }),
  })
  const { ask, user } = await asking(t, PROXY_READER)

  const unknown = await untilPrinted(ask, 'the volumes of this back end, not of this cluster were not listed yet')
  equal([unknown.code, unknown.first], [2, 'Nothing was found.'])

  listed.resolve()
  const some = await untilPrinted(ask, 'forgotten')
  equal(some.code, 1)
  match(some.first, /^DRIVER +KIND +REASON +HANDLE +SIZE +SEEN +OBJECT$/)
  match(some.stdout, new RegExp(`^${t.driverName} +volume +NoObject +forgotten +3Gi +\\S+$`, 'm'))
  match(some.stdout, /1 volumes of this back end, not of this cluster were listed/)
  const { code, stdout } = await ask('unreferenced', '-o', 'json')
  const { verdict, items } = JSON.parse(stdout)
  equal([code, verdict], [1, 'some'])
  equal(
    items.map(({ driver: of, handle, sizeBytes }: Record<string, unknown>) => [of, handle, sizeBytes]),
    [[t.driverName, 'forgotten', 3 * GI]],
  )

  await t.createVolume('pv', { csi: { volumeHandle: 'forgotten' } })
  const none = await untilPrinted(ask, 'Nothing was found.')
  equal(none.code, 0)
  onlyReads(t, user)
  equal(driver.callsOf('DeleteVolume'), [])
})

/** Repeats `kubectl csi unreferenced` until it prints the text. */
async function untilPrinted(ask: Asking['ask'], text: string): Promise<Explanation> {
  return await eventually(`an answer with ${text}`, async () => {
    const answer = await ask('unreferenced')
    if (!answer.stdout.includes(text)) throw new Error(`it prints: ${answer.stdout}${answer.stderr}`)
    return answer
  })
}
