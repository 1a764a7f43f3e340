import { expect, test } from '@jest/globals'
import { maySendCredentials, parseServer, redactedUrl } from './server-url.ts'

test.each([
  ['https://10.0.0.1:6443', false, 'https://10.0.0.1:6443', ''],
  ['https://10.0.0.1:443', false, 'https://10.0.0.1:443', ''],
  ['https://[fd00::1]:443/base/', false, 'https://[fd00::1]:443', '/base'],
  ['10.0.0.1:443', true, 'https://10.0.0.1:443', ''],
  ['http://10.0.0.1:80', false, 'http://10.0.0.1:80', ''],
  ['https://me:443@api.example.com', false, 'https://api.example.com', ''],
  ['https://api.example.com', false, 'https://api.example.com', ''],
  ['https://rancher.example.com/k8s/clusters/c-1/', false, 'https://rancher.example.com', '/k8s/clusters/c-1'],
  ['https://[fd00::1]:6443', false, 'https://[fd00::1]:6443', ''],
  ['10.0.0.1:8080', false, 'http://10.0.0.1:8080', ''],
  ['10.0.0.1:8080', true, 'https://10.0.0.1:8080', ''],
])('the URL %s (TLS by default: %j) has the origin %s and the base path %j', (server, defaultTls, origin, basePath) => {
  expect(parseServer(server, defaultTls)).toEqual({ origin, basePath })
})

test.each(['10.0.0.1:8080/path', 'ftp://10.0.0.1', 'https://', 'a b'])('the server URL %j is not valid', (server) => {
  expect(parseServer(server, false)).toBeUndefined()
})

test.each([
  ['https://10.0.0.1', true],
  ['http://10.0.0.1', false],
  ['http://127.0.0.1:8080', true],
  ['http://[::1]:8080', true],
  ['http://localhost', true],
  ['http://localhost.example.com', false],
])('the client may send credentials to %s: %j', (origin, allowed) => {
  expect(maySendCredentials(origin)).toBe(allowed)
})

test.each([
  ['http://proxy:3128', 'http://proxy:3128'],
  ['http://me:secret@proxy:3128', 'http://xxxxx@proxy:3128'],
  ['socks5://me:se/cr?et#@proxy', 'socks5://xxxxx@proxy'],
  ['http://me:sec@ret@proxy', 'http://xxxxx@proxy'],
  ['me:secret@proxy:3128', 'xxxxx@proxy:3128'],
  ['HTTP://me:secret@[::1]:1/x', 'HTTP://xxxxx@[::1]:1/x'],
  ['', ''],
])('the URL %s is logged as %s', (text, redacted) => {
  expect(redactedUrl(text)).toBe(redacted)
})
