import { createInProcessServer } from '@csi-sidecars/emulator'
import { apiErrorOf, type KubeClient } from '@csi-sidecars/kube-client'
import { PERSISTENT_VOLUMES, VOLUME_ATTRIBUTES_CLASSES } from '@csi-sidecars/kube-types'
import { InProcessClient, pv } from '@csi-sidecars/testkit'
import { expect, it } from '@jest/globals'
import { ApiReader, readOnly } from './reader.ts'

function reading() {
  const server = createInProcessServer({})
  const fullClient: KubeClient = new InProcessClient(server, { errorOf: apiErrorOf })
  return { server, fullClient, reader: new ApiReader(readOnly(fullClient), new AbortController().signal) }
}

const refused = (code: number, message: string) => ({ kind: 'answer', code, message, reason: '' }) as const

it('the read-only client can only get, list and discover', () => {
  expect(Object.keys(readOnly(reading().fullClient)).sort()).toEqual(['discover', 'get', 'list'])
})

it('the reader reads all pages of a list, and returns only the requested objects', async () => {
  const { server, reader } = reading()
  for (let index = 0; index < 2100; index += 1) server.create(PERSISTENT_VOLUMES, pv(`pv-${index}`))
  const found = await reader.list(PERSISTENT_VOLUMES, {
    where: ({ metadata }) => metadata?.name?.endsWith('99') === true,
  })
  expect(found).toHaveLength(21)
  expect(server.requests.entries).toHaveLength(3)
})

it('the reader distinguishes a present object, an absent object and a refused read', async () => {
  const { server, reader } = reading()
  server.create(PERSISTENT_VOLUMES, pv('here'))
  expect(await reader.get(PERSISTENT_VOLUMES, { name: 'here' })).toMatchObject({ kind: 'present' })
  expect(await reader.get(PERSISTENT_VOLUMES, { name: 'there' })).toEqual({ kind: 'absent' })
  expect(reader.unseen).toEqual([])
  server.faults.add({ action: refused(403, 'no') })
  expect(await reader.get(PERSISTENT_VOLUMES, { name: 'here' })).toEqual({ kind: 'unseen' })
})

it('a refused read is recorded once, and counts as essential if the command needs the kind', async () => {
  const { server, reader } = reading()
  server.faults.add({ action: refused(403, 'no') })
  expect(await reader.list(PERSISTENT_VOLUMES)).toBeUndefined()
  expect(await reader.list(PERSISTENT_VOLUMES)).toBeUndefined()
  expect(await reader.list(VOLUME_ATTRIBUTES_CLASSES)).toBeUndefined()
  expect(reader.unseen).toEqual([
    { what: 'persistentvolumes', why: 'no', essential: true },
    { what: 'volumeattributesclasses.storage.k8s.io', why: 'no', essential: false },
  ])
})

it.each([401])('the reader throws if the API server answers %d', async (code) => {
  const { server, reader } = reading()
  server.faults.add({ action: refused(code, 'who?') })
  await expect(reader.list(PERSISTENT_VOLUMES)).rejects.toThrow('who?')
})
