/* A made-up node of a network, with the memory habits that a profiler is asked about:
 *   - a cache of seen messages that grows for ever: the leak (SeenCache::remember)
 *   - a synchronisation in the middle of the run that needs much memory for a short while: the peak
 *     (StateSync::import_chunk)
 *   - decoding that allocates a temporary buffer for every message: churn (codec::decode_frame)
 *   - a journal whose buffer grows through realloc, line by line: copying (Journal::append)
 *   - worker threads whose messages another thread frees
 * usage: demo_node [seconds]    default 2; prints one line with what it did
 */
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <queue>
#include <string>
#include <thread>
#include <vector>

#define OUT_OF_LINE __attribute__((noinline))

namespace codec
{

struct Message {
	unsigned long id;
	std::string body;
};

/* Copies the frame into a buffer of its own, which lives for this call only. */
OUT_OF_LINE std::unique_ptr<Message> decode_frame(const char *frame, size_t len, unsigned long id)
{
	auto buffer = std::make_unique<char[]>(len + 64);
	char head[49] = {0};

	memcpy(buffer.get(), frame, len);
	memcpy(head, buffer.get(), sizeof(head) - 1);
	buffer.reset();
	auto message = std::make_unique<Message>();
	message->id = id;
	message->body = head;
	return message;
}

} // namespace codec

namespace net
{

struct Entry {
	unsigned long id;
	char digest[88];
};

/* Remembers which messages were seen. Nothing ever leaves it. */
class SeenCache
{
      public:
	OUT_OF_LINE bool remember(const codec::Message &m)
	{
		std::lock_guard<std::mutex> guard(lock);

		if (seen.count(m.id))
			return false;
		auto entry = std::make_shared<Entry>();
		entry->id = m.id;
		snprintf(entry->digest, sizeof(entry->digest), "%.80s", m.body.c_str());
		seen.emplace(m.id, std::move(entry));
		return true;
	}
	size_t size() const
	{
		return seen.size();
	}

      private:
	std::mutex lock;
	std::map<unsigned long, std::shared_ptr<Entry>> seen;
};

/* Messages on their way from the workers to the thread that handles and frees them. */
class Mailbox
{
      public:
	OUT_OF_LINE void send(std::unique_ptr<codec::Message> m)
	{
		std::lock_guard<std::mutex> guard(lock);

		queue.push(std::move(m));
		ready.notify_one();
	}
	OUT_OF_LINE std::unique_ptr<codec::Message> receive()
	{
		std::unique_lock<std::mutex> guard(lock);

		ready.wait(guard, [this] { return !queue.empty() || is_closed; });
		if (queue.empty())
			return nullptr;
		auto m = std::move(queue.front());
		queue.pop();
		return m;
	}
	void close()
	{
		std::lock_guard<std::mutex> guard(lock);

		is_closed = true;
		ready.notify_all();
	}

      private:
	std::mutex lock;
	std::condition_variable ready;
	std::queue<std::unique_ptr<codec::Message>> queue;
	bool is_closed = false;
};

} // namespace net

namespace state
{

/* A log in one block, grown by a little more than each line needs. */
class Journal
{
      public:
	OUT_OF_LINE void append(const std::string &line)
	{
		if (used + line.size() + 1 > capacity) {
			capacity = used + line.size() + 256;
			text = static_cast<char *>(realloc(text, capacity));
			if (!text)
				abort();
		}
		memcpy(text + used, line.c_str(), line.size() + 1);
		used += line.size();
	}
	OUT_OF_LINE void checkpoint()
	{
		free(text);
		text = nullptr;
		used = capacity = 0;
	}
	~Journal()
	{
		free(text);
	}

      private:
	char *text = nullptr;
	size_t used = 0, capacity = 0;
};

/* Holds many chunks at once while it synchronises. */
class StateSync
{
      public:
	OUT_OF_LINE void import_chunk(size_t size_bytes)
	{
		chunks.emplace_back(size_bytes, 'c');
	}
	OUT_OF_LINE void finish()
	{
		chunks.clear();
		chunks.shrink_to_fit();
	}

      private:
	std::vector<std::vector<char>> chunks;
};

/* Recently used nodes; a full cache drops its oldest ones. */
class NodeCache
{
      public:
	OUT_OF_LINE void insert(unsigned long key)
	{
		nodes[key % 512] = std::make_unique<std::vector<char>>(512 + key % 1500);
	}

      private:
	std::map<unsigned long, std::unique_ptr<std::vector<char>>> nodes;
};

} // namespace state

namespace node
{

using Clock = std::chrono::steady_clock;

struct Node {
	net::SeenCache seen;
	net::Mailbox mailbox;
	Clock::time_point start = Clock::now();
	double seconds = 2;

	double progress() const
	{
		return std::chrono::duration<double>(Clock::now() - start).count() / seconds;
	}
};

OUT_OF_LINE void receive_messages(Node &n, unsigned worker)
{
	char frame[600];
	unsigned long id = worker;

	memset(frame, 'm', sizeof(frame));
	while (n.progress() < 1) {
		for (unsigned i = 0; i < 60; i++) {
			snprintf(frame, 64, "message %lu of worker %u", id, worker);
			frame[40] = ' ';
			n.mailbox.send(codec::decode_frame(frame, 100 + id * 7 % 400, id));
			id += 4;
		}
		std::this_thread::sleep_for(std::chrono::milliseconds(4));
	}
}

OUT_OF_LINE void handle_messages(Node &n, state::Journal &journal, state::NodeCache &cache)
{
	unsigned n_handled = 0;

	while (auto m = n.mailbox.receive()) {
		n.seen.remember(*m);
		cache.insert(m->id * 2654435761u);
		if (++n_handled % 8 == 0)
			journal.append(m->body);
		if (n_handled % 4000 == 0)
			journal.checkpoint();
	}
}

OUT_OF_LINE void synchronise(Node &n)
{
	state::StateSync sync;

	while (n.progress() < 0.55)
		std::this_thread::sleep_for(std::chrono::milliseconds(2));
	for (unsigned i = 0; i < 120; i++) {
		sync.import_chunk(40000 + i * 300);
		std::this_thread::sleep_for(std::chrono::microseconds(700));
	}
	while (n.progress() < 0.7)
		std::this_thread::sleep_for(std::chrono::milliseconds(2));
	sync.finish();
}

OUT_OF_LINE size_t run(double seconds)
{
	auto *n =
		new Node; /* the node lives as long as the process: what it holds is never freed */
	state::Journal journal;
	state::NodeCache cache;
	std::vector<std::thread> workers;

	n->seconds = seconds;
	std::thread handler([&] { handle_messages(*n, journal, cache); });
	std::thread syncer([&] { synchronise(*n); });
	for (unsigned i = 0; i < 3; i++)
		workers.emplace_back([n, i] { receive_messages(*n, i); });
	pthread_setname_np(handler.native_handle(), "handler");
	pthread_setname_np(syncer.native_handle(), "sync");
	for (unsigned i = 0; i < workers.size(); i++)
		pthread_setname_np(workers[i].native_handle(),
				   ("worker-" + std::to_string(i)).c_str());
	for (auto &w : workers)
		w.join();
	n->mailbox.close();
	handler.join();
	syncer.join();
	return n->seen.size();
}

} // namespace node

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 2;
	size_t n_seen = node::run(seconds > 0 ? seconds : 2);

	printf("demo_node: handled messages for %.1f s%s\n", seconds,
	       n_seen ? "" : ", but saw none");
	return 0;
}
