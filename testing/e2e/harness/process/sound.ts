import { deepStrictEqual as equal, match } from 'node:assert'
import type { RunningSidecar } from '../context.ts'
import { eventually } from '../waiting.ts'

/** The content of Secrets, which must not appear in a log. */
export const CANARY = 'canary-password'

const KLOG = /^[IWEF]\d{4} \d\d:\d\d:\d\d\.\d{6} +\d+ [\w.-]+:\d+\] /
/** Texts that only a programming error writes into the log, such as stack traces. */
const FOREIGN =
  /^\s+at .*:\d+:\d+|Node\.js v\d|Unexpected failure|\b(Type|Reference|Range)Error\b|\[object Object\]|=undefined\b|desc = undefined/

/** Checks that the process runs, answers its probes, writes well-formed log lines, and logs no secret. */
export async function sound(sidecar: RunningSidecar): Promise<void> {
  equal(sidecar.exit, undefined)
  await eventually('readiness', async () => (await sidecar.http('/readyz')).code === 200)
  equal((await sidecar.http('/livez')).code, 200)
  match((await sidecar.metrics()).text, /^process_open_fds \d+$/m)
  soundLines(sidecar)
}

/** Checks that all lines of the log are well formed, and that none has a secret or a programming error. */
export function soundLines(sidecar: RunningSidecar): void {
  const foreign = sidecar.lines.filter((line) => FOREIGN.test(line))
  equal(foreign, [])
  // A log value with line breaks continues in indented lines.
  const loose = sidecar.lines.filter((line) => !KLOG.test(line) && !/^[\s>]/.test(line))
  equal(loose, [])
  equal(sidecar.linesWith(CANARY), [])
}
