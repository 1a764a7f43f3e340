import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { aborted, systemClock } from '@csi-sidecars/base'
import { startCsiDriver } from '@csi-sidecars/emulator'
import { silentLogger } from '@csi-sidecars/telemetry'
import { expect, it } from '@jest/globals'
import { refuseServed, startDriverProcesses } from './driver-process.ts'

it('a driver is not started if another process already listens on its socket', async () => {
  await using stack = new AsyncDisposableStack()
  const directory = await mkdtemp(join(tmpdir(), 'served-'))
  stack.defer(() => rm(directory, { recursive: true, force: true }))
  const [free, served] = ['free.sock', 'csi.sock'].map((name) => `unix://${join(directory, name)}`)
  stack.use(await startCsiDriver({ socket: join(directory, 'csi.sock'), clock: systemClock }))
  await expect(refuseServed([free ?? ''])).resolves.toBeUndefined()
  await expect(refuseServed([free ?? '', served ?? ''])).rejects.toThrow(
    `--driver-command: something answers at ${served} already; end it, or leave out --driver-command`,
  )
})

it('a driver that ends eight times in a row is reported as gone', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'gone-'))
  const options = { logFile: join(directory, 'driver.log'), clock: systemClock, log: silentLogger }
  const processes = await startDriverProcesses(['sh -c "exit 3"'], options)
  try {
    expect(await aborted(processes.watchGone())).toEqual(new Error('the driver ended with code 3, 8 times in a row'))
  } finally {
    await processes.stop()
    await rm(directory, { recursive: true, force: true })
  }
}, 30_000)

it('only crashes after the call of `watchGone` make a driver count as gone', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'ended-'))
  const options = { logFile: join(directory, 'driver.log'), clock: systemClock, log: silentLogger }
  // The driver ends at once in its first nine starts. In the tenth it runs for a minute.
  const count = join(directory, 'count')
  const script = `echo >>${count}; [ $(wc -l <${count}) -gt 9 ] && exec sleep 60; exit 3`
  const processes = await startDriverProcesses([`sh -c '${script}'`], options)
  try {
    await new Promise<void>((resolve) => {
      let ends = 0
      processes.watchDeaths(() => {
        ends += 1
        if (ends === 9) resolve()
      })
    })
    expect(processes.watchGone().aborted).toBe(false)
  } finally {
    await processes.stop()
    await rm(directory, { recursive: true, force: true })
  }
}, 30_000)
