import { describe, expect, it } from '@jest/globals'
import { urlPath } from './go-url.ts'

describe('urlPath', () => {
  it.each<[url: string, path: string]>([
    ['aws://zone/vol-1', '/vol-1'],
    ['aws:///vol-1', '/vol-1'],
    ['aws://vol-1', ''],
    ['aws://', ''],
    ['aws://zone/a/../b/./c', '/a/../b/./c'],
    ['aws://zone/vol%2D1%2f', '/vol-1/'],
    ['aws://zone/%E2%82%ac', '/€'],
    ['aws://zone/a b', '/a b'],
    ['aws://zone/vol-1?a=%zz', '/vol-1'],
    ['aws://zone?x/vol-1', ''],
    ['aws://zone/vol-1#x%20', '/vol-1'],
    ['aws://user:p%40ss@zone:80/vol-1', '/vol-1'],
    ['aws://a:1:2/vol-1', '/vol-1'],
    ['aws://[::1]:8/vol-1', '/vol-1'],
    ['aws://z%c3%a9%25/vol-1', '/vol-1'],
    ['aws://é<">/vol-1', '/vol-1'],
  ])('`urlPath` returns for the URL %s the path %j', (url, path) => {
    expect(urlPath(url)).toBe(path)
  })

  it.each<[url: string, message: string]>([
    ['aws://zone/%zz', 'parse "aws://zone/%zz": invalid URL escape "%zz"'],
    ['aws://zone/%4', 'parse "aws://zone/%4": invalid URL escape "%4"'],
    ['aws://zone/a#%zz', 'parse "aws://zone/a#%zz": invalid URL escape "%zz"'],
    ['aws://zone/%zz#a', 'parse "aws://zone/%zz": invalid URL escape "%zz"'],
    ['aws://z z/a', 'parse "aws://z z/a": invalid character " " in host name'],
    ['aws://z\\/a', 'parse "aws://z\\\\/a": invalid character "\\\\" in host name'],
    ['aws://z%41/a', 'parse "aws://z%41/a": invalid URL escape "%41"'],
    ['aws://z:x/a', 'parse "aws://z:x/a": invalid port ":x" after host'],
    ['aws://u%zz@z/a', 'parse "aws://u%zz@z/a": invalid URL escape "%zz"'],
    ['aws://u[@z/a', 'parse "aws://u[@z/a": net/url: invalid userinfo'],
    ['aws://a[b]/c', 'parse "aws://a[b]/c": invalid IP-literal'],
    ['aws://[b/c', 'parse "aws://[b/c": missing \']\' in host'],
    ['aws://[b]/c', 'parse "aws://[b]/c": invalid host: ParseAddr("b"): unable to parse IP'],
    ['aws://zone/a\t', 'parse "aws://zone/a\\t": net/url: invalid control character in URL'],
  ])('`urlPath` refuses the URL %j', (url, message) => {
    expect(() => urlPath(url)).toThrow(expect.objectContaining({ name: 'UrlError', message }))
  })
})
