import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { UnaryMethod } from '@csi-sidecars/csi-proto'
import type { RegistrationStatus } from '@csi-sidecars/csi-proto/registration'
import { Client, credentials } from '@grpc/grpc-js'
import { expect, it } from '@jest/globals'
import { REGISTRATION, register } from './registration.ts'

it('the kubelet learns name and socket of the driver, and the driver learns the answer of the kubelet', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'plugins-'))
  const answers: RegistrationStatus[] = []
  const registration = await register(folder, { name: 'd', endpoint: '/d/csi.sock' }, (answer) => answers.push(answer))
  expect(readdirSync(folder)).toEqual(['d-reg.sock'])
  const client = new Client(`unix:${join(folder, 'd-reg.sock')}`, credentials.createInsecure())
  const call = <Q, R>({ path, ...method }: UnaryMethod<Q, R>, request: Q): Promise<R | undefined> =>
    new Promise((resolve, reject) => {
      client.makeUnaryRequest(path, method.requestSerialize, method.responseDeserialize, request, (error, answer) =>
        error === null ? resolve(answer) : reject(error),
      )
    })
  expect(await call(REGISTRATION.getInfo, {})).toEqual({
    type: 'CSIPlugin',
    name: 'd',
    endpoint: '/d/csi.sock',
    supportedVersions: ['1.0.0'],
  })
  await call(REGISTRATION.notifyRegistrationStatus, { pluginRegistered: false, error: 'no' })
  expect(answers).toEqual([{ pluginRegistered: false, error: 'no' }])
  client.close()
  await registration.kill()
  expect(readdirSync(folder)).toEqual([])
  rmSync(folder, { recursive: true })
})
