import { expect, test } from '@jest/globals'
import { listenError, parseListenAddress } from './listen-address.ts'

test.each([
  [':8080', undefined, 8080],
  ['0.0.0.0:3303', undefined, 3303],
  ['[::]:3303', undefined, 3303],
  ['localhost:8203', 'localhost', 8203],
  ['[::1]:80', '::1', 80],
  ['[1.2.3.4]:0', '1.2.3.4', 0],
  [':', undefined, 0],
  [':http', undefined, 80],
  [':+80', undefined, 80],
])('the listen address %s has the host %s and the port %i', (address, host, port) => {
  expect(parseListenAddress(address)).toEqual({ host, port })
})

test.each([
  ['foo', 'listen tcp: address foo: missing port in address'],
  ['foo:bar:1', 'listen tcp: address foo:bar:1: too many colons in address'],
  ['::1:80', 'listen tcp: address ::1:80: too many colons in address'],
  ['[::1', "listen tcp: address [::1: missing ']' in address"],
  ['[::1]', 'listen tcp: address [::1]: missing port in address'],
  ['localhost:x', 'listen tcp: lookup tcp/x: unknown port'],
  [':0x50', 'listen tcp: lookup tcp/0x50: unknown port'],
  [':70000', 'listen tcp: address 70000: invalid port'],
  [':-1', 'listen tcp: address -1: invalid port'],
])('the listen address %s causes the error: %s', (address, message) => {
  expect(() => parseListenAddress(address)).toThrow(new Error(message))
})

test.each([
  ['EADDRINUSE', 'listen tcp h:1: bind: address already in use'],
  ['EACCES', 'listen tcp h:1: bind: permission denied'],
  ['EADDRNOTAVAIL', 'listen tcp h:1: bind: cannot assign requested address'],
  ['ENOTFOUND', 'listen tcp: lookup h: no such host'],
  ['EWEIRD', 'listen tcp h:1: EWEIRD'],
])('the error code %s of the HTTP server has the text: %s', (code, message) => {
  expect(listenError('h:1', code, undefined).message).toBe(message)
})
