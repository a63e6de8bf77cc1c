# Writes values in each of the forms that dalli has: values.rb ADDRESS FILE [USER PASSWORD].
# With a user it logs in by SASL.
require 'dalli'

address, file, user, password = ARGV
login = user ? { username: user, password: password } : {}
text = File.read(file, encoding: 'UTF-8')

store = lambda do |key, value, options = {}, request = {}|
  client = Dalli::Client.new(address, { compress: false }.merge(login, options))
  raise "#{key} is not stored" unless client.set(key, value, nil, request)
end

store.call('dalli-raw', text, {}, raw: true)
store.call('dalli-raw-zlib', text, { compress: true }, raw: true)
store.call('dalli-raw-gzip', text, { compress: true, compressor: Dalli::GzipCompressor }, raw: true)
store.call('dalli-raw-number', 1000, {}, raw: true)
store.call('dalli-string', text)
store.call('dalli-string-zlib', text, compress: true)
store.call('dalli-list', [1])
