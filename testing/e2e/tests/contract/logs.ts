import { deepStrictEqual as equal, match, ok } from 'node:assert'
import { globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { FACTS } from '@csi-sidecars/sidecars/facts'
import type { RunningSidecar, TestContext } from '../../harness/context.ts'
import { sharingCode, testsOf } from '../../harness/test.ts'
import { eventually } from '../../harness/waiting.ts'
import { attach, attachAndWait, scene as attacherScene, attachFailed } from '../../rows/attacher/scene.ts'
import { scene, work } from '../../rows/work.ts'

const ROOT = resolve(import.meta.dirname, '../../../..')

const TEXT_LINE = /^[IWEF]\d{4} \d\d:\d\d:\d\d\.\d{6} [ \d]{7} [\w.-]+:\d+\] /

/** Runs one operation from start to end, with a Secret. */
async function worked(t: TestContext, args: readonly string[]): Promise<RunningSidecar> {
  const secret = await t.createSecret({ user: 'canary-user', password: 'canary-password' })
  const { sidecar } = await scene(t, { args })
  await work(t, { secret })
  return sidecar
}

for (const app of sharingCode('resizer')) {
  const test = testsOf(app, 'logs')
  const method = `/csi.v1.Controller/${FACTS[app].mainMethod}`

  test('every log line in text format has the form of klog and goes to stderr', async (t) => {
    const sidecar = await worked(t, ['-v=5'])
    await sidecar.line('GRPC response')
    equal(sidecar.stdout, '')
    const heads = sidecar.lines.filter((line) => !line.startsWith('\t') && line !== ' >')
    ok(heads.length > 10)
    for (const line of heads) match(line, TEXT_LINE)
  })

  test('log level 5 shows driver calls and answers with the field names of the proto file, without secrets', async (t) => {
    // The Go sidecars run with level 7, because from level 8 on they log whole answers of the API server with Secrets.
    const sidecar = await worked(t, [t.ours ? '-v=10' : '-v=7'])
    const call = await sidecar.line(`method="${method}"`)
    const text = JSON.parse(/ request=("(?:[^"\\]|\\.)*")/.exec(call)?.[1] ?? '""')
    const request = JSON.parse(text)
    const common = { secrets: '***stripped***', volume_id: `${t.name('pv')}-handle` }
    const capability = { access_mode: { mode: 'SINGLE_NODE_WRITER' }, mount: {} }
    const expected =
      app === 'attacher'
        ? { ...common, node_id: `${t.name('node')}-id`, volume_capability: capability }
        : { ...common, capacity_range: { required_bytes: 2147483648 }, volume_capability: capability }
    equal(request, expected)
    equal(Object.keys(request), Object.keys(request).sort())
    const info = sidecar.linesWith('"GRPC response"')[1] ?? ''
    ok(info.includes(`response="{\\"name\\":\\"${t.driverName}\\",\\"vendor_version\\":\\"1\\"}" err=null`), info)
    ok(!/canary/.test(sidecar.stderr), 'no secret value at any level')
    ok(!sidecar.stderr.includes(Buffer.from('canary-password').toString('base64')))
  })

  test('the sidecar logs the error of a failed driver call', async (t) => {
    const driver = await t.driver()
    driver.on('Probe', { code: 13, message: 'broken "so"' })
    const sidecar = await t.sidecar({ driver })
    await sidecar.end()
    const line = sidecar.linesWith('"GRPC response"')[0] ?? ''
    ok(line.endsWith('response="{}" err="rpc error: code = Internal desc = broken \\"so\\""'), line)
  })

  test('log level 0 shows neither the steps of an operation nor driver calls', async (t) => {
    const sidecar = await worked(t, ['-v=0'])
    ok(sidecar.linesWith('"Version"').length === 1)
    for (const text of ['GRPC', '"Attached"', '"Attaching"', 'Started ', '"CSI driver name"'])
      equal(sidecar.linesWith(text), [])
  })

  test('each log line in JSON format is one object, and every line except an error has the key `v`', async (t) => {
    const sidecar = await worked(t, ['-v=5', '--logging-format=json'])
    await sidecar.line('GRPC response')
    const started = sidecar.started
    for (const line of sidecar.lines) {
      const entry = JSON.parse(line)
      const keys = Object.keys(entry)
      equal(keys.slice(0, 3), ['ts', 'caller', 'msg'])
      ok(entry.ts >= started - 1000 && entry.ts < started + 120_000, line)
      match(entry.caller, /^[\w.@-]+\/[\w.-]+:\d+$/)
      ok(!keys.includes('level') && !keys.includes('logger'))
      if (!keys.includes('v')) ok(keys.includes('err'), `an error line has err: ${line}`)
    }
    const version = sidecar.lines.map((line) => JSON.parse(line)).find(({ msg }) => msg === 'Version')
    equal(version.v, 0)
    if (t.ours) for (const line of sidecar.lines) isInSource(app, JSON.parse(line))
    const call = sidecar.lines.map((line) => JSON.parse(line)).find((entry) => entry.method === method)
    equal([call.msg, call.v], ['GRPC call', 5])
    ok(typeof call.request === 'string')
  })

  test('the last log line in JSON format contains the error that ends the process', async (t) => {
    const driver = await t.driver()
    driver.on('GetPluginInfo', { code: 13, message: 'broken' })
    const sidecar = await t.sidecar({ driver, args: ['--logging-format=json'] })
    await sidecar.end()
    const last = JSON.parse(sidecar.lines.at(-1) ?? '{}')
    equal(last.err, 'rpc error: code = Internal desc = broken')
    equal(last.v, undefined)
    equal(Object.keys(last).at(-1), 'err')
  })
}

const attacher = testsOf('attacher', 'logs')

attacher('log level 2 shows the steps of an attach', async (t) => {
  const sidecar = await worked(t, ['-v=2'])
  const va = `VolumeAttachment="${t.name('va')}"`
  await sidecar.line('"Attached"')
  const messages = sidecar.lines.map((line) => line.slice(line.indexOf(']') + 2))
  ok(messages.includes(`"CSI driver name" driver="${t.driverName}"`), sidecar.stderr)
  ok(
    messages.includes(
      `"CSI driver supports ControllerPublishUnpublish, using real CSI handler" driver="${t.driverName}"`,
    ),
  )
  ok(messages.includes(`"Attaching" ${va}`) && messages.includes(`"Attached" ${va}`), sidecar.stderr)
  equal(sidecar.linesWith('GRPC'), [])
})

attacher('--max-grpc-log-length shortens logged answers', async (t) => {
  const at = await attacherScene(t, { args: ['--max-grpc-log-length=30'] })
  at.driver.on('ControllerPublishVolume', { reply: { publishContext: { key: 'x'.repeat(100) } } })
  await attachAndWait(t, at)
  const line = await at.attacher.line('publish_context')
  ok(line.includes('{\\"publish_context\\":{\\"key\\":\\"xxx [response body too large, log capped to 30 chars]'), line)
})

attacher('a log value with line breaks is indented between < and >', async (t) => {
  const at = await attacherScene(t)
  at.driver.on('ControllerPublishVolume', { code: 13, message: 'one\ntwo' })
  await attach(t, at)
  await attachFailed(t)
  await eventually('the lines', () => at.attacher.stderr.includes('"Error processing"'))
  await at.attacher.line('\ttwo')
  ok(
    at.attacher.stderr.includes('err=<\n\tfailed to attach: rpc error: code = Internal desc = one\n\ttwo\n >'),
    at.attacher.stderr,
  )
})

/** Asserts that the source location in a log line points to a log call in our source with the same message. */
function isInSource(app: string, { caller, msg }: { caller: string; msg: string }): void {
  const [, folder = '', file = '', line = ''] = /^([^/]+)\/(.+):(\d+)$/.exec(caller) ?? []
  // Files of the app come first, because a library may have a file with the same folder and name.
  const globs = [
    `{apps,libs,desk}/${folder}/src/${file}`,
    `apps/${app}/src/**/${folder}/${file}`,
    `libs/*/src/**/${folder}/${file}`,
  ]
  const [path = ''] = globs.flatMap((glob) => globSync(glob, { cwd: ROOT, exclude: ['node_modules'] }))
  const source = readFileSync(join(ROOT, path), 'utf8').split('\n')
  const call = source.slice(Number(line) - 1, Number(line) + 3)
  match(call[0] ?? '', /\.(info|warn|error|fatal)\(/, caller)
  const [, message = msg] = /\.(?:info|warn|fatal)\(\s*'([^']*)'|\.error\(\w+,\s*'([^']*)'/.exec(call.join('\n')) ?? []
  equal(message, msg, caller)
}
