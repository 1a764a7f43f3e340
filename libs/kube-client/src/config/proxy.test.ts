import { expect, test } from '@jest/globals'
import { bypassesProxy } from './proxy.ts'

test.each([
  ['10.0.0.1', 443, '', false],
  ['10.0.0.1', 443, '*', true],
  ['10.0.0.1', 443, '10.0.0.1', true],
  ['10.0.0.1', 443, '10.0.0.1:443', true],
  ['10.0.0.1', 443, '10.0.0.1:6443', false],
  ['10.0.0.1', 443, 'example.com, 10.0.0.0/8', true],
  ['11.0.0.1', 443, '10.0.0.0/8', false],
  ['10.0.0.1', 443, '10.0.0.0/99', false],
  ['fd00::1', 443, 'fd00::/8', true],
  ['fd00::1', 443, '10.0.0.0/8', false],
  ['fd00::1', 443, '[fd00::1]:443', true],
  ['api.example.com', 443, 'example.com', true],
  ['api.example.com', 443, '.example.com', true],
  ['api.example.com', 443, '*.example.com', true],
  ['example.com', 443, '.example.com', false],
  ['example.com', 443, 'EXAMPLE.com', true],
  ['notexample.com', 443, 'example.com', false],
  ['api.example.com', 443, 'example.com:8443', false],
  ['localhost', 443, '', true],
  ['127.0.0.9', 443, '', true],
  ['::1', 443, '', true],
])('the server %s:%d with NO_PROXY=%j bypasses the proxy: %j', (host, port, noProxy, bypassed) => {
  expect(bypassesProxy(host, port, noProxy)).toBe(bypassed)
})
