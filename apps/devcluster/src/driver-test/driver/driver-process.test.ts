import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '@csi-sidecars/base'
import { startCsiDriver } from '@csi-sidecars/emulator'
import { expect, it } from '@jest/globals'
import { refuseServed } from './driver-process.ts'

it('a driver is not started where something answers already', async () => {
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
