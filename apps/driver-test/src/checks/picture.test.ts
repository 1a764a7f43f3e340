import { answered, created } from '@csi-sidecars/disturb/testing/proxied-calls'
import { expect, it } from '@jest/globals'
import { pictureOf } from './picture.ts'

const attach = { volumeId: 'vol', nodeId: 'a' }
const same = (path: string): string => path

it('the picture of a finding shows where the volume was, between the successful calls that began and ended it', () => {
  const calls = [
    created('pvc', 'vol', 1n),
    answered('ControllerPublishVolume', { ...attach, nodeId: 'b' }, { code: 9, message: 'it is <there>' }),
    answered('ControllerPublishVolume', attach),
    answered('ControllerPublishVolume', attach, { fault: 'repeat' }),
    answered('ControllerUnpublishVolume', attach),
  ].map(([, ended]) => ended)
  const svg = pictureOf(calls, same)
  expect([...svg.matchAll(/<text x="8" y="\d+">([^<]*)</g)].map(([, lane]) => lane)).toEqual([
    'calls',
    'created',
    'attached a',
  ])
  expect(svg.match(/fill="#4a7ab5"/g)).toHaveLength(2)
  expect(svg.match(/fill="#c22"/g)).toHaveLength(1)
  expect(svg.match(/fill="#e80"/g)).toHaveLength(1)
  expect(svg).toContain('<title>ControllerPublishVolume 9 it is &lt;there&gt;</title>')
})

it('the picture of a finding without calls is empty', () => {
  expect(pictureOf([], same)).toBe('')
})
